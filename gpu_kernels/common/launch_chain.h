// SPDX-License-Identifier: Apache-2.0
//
// Chains: a kernel of a chain may begin before the kernel before it has ended. CUDA calls this
// programmatic dependent launch; GPUs have it from compute capability 9.0 on.
//
// While a ChainedLaunches exists, the launches of its thread (launch.cuh) form a chain. Every
// kernel calls wait_for_previous(), which waits until all earlier kernels have ended. A kernel may
// begin early only right after another kernel, so the caller reports other work in the stream (a
// copy, a library's call) by other_work(). Nobody else may use the stream meanwhile. Threads: each
// has its own chain.
#pragma once

namespace tandem::gpu_kernels {

struct LaunchChain {
  bool open = false, overlaps = false;
  bool behind_kernel = false;  // the last work in the stream is a kernel of the chain
  unsigned launches = 0;       // launches of this thread so far; the counter wraps
};
inline thread_local LaunchChain launch_chain;

// Reports work in the stream that is not a kernel. The next kernel begins when this work has ended.
inline void other_work() { launch_chain.behind_kernel = false; }

// A chain from construction to destruction; chains do not nest. Its first kernel waits for all work
// before it. `overlap` false: each kernel begins when the one before it has ended, as outside of
// chains. The tests' interpreter ignores that and overlaps kernels, to find a missing
// wait_for_previous().
class ChainedLaunches {
 public:
  explicit ChainedLaunches(bool overlap) {
    launch_chain.open = true;
    launch_chain.overlaps = overlap;
    other_work();
  }
  ~ChainedLaunches() { launch_chain.open = launch_chain.overlaps = false; }
  ChainedLaunches(const ChainedLaunches&) = delete;
  ChainedLaunches& operator=(const ChainedLaunches&) = delete;
};

// launch.cuh calls it at each launch. True if the launch directly follows another one of its chain.
inline bool follows_in_chain() {
  const bool follows = launch_chain.open && launch_chain.behind_kernel;
  launch_chain.behind_kernel = true;
  ++launch_chain.launches;
  return follows;
}

}  // namespace tandem::gpu_kernels
