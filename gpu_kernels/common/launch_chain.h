// SPDX-License-Identifier: Apache-2.0
//
// Chains: launches of a thread that may begin before the previous launch has ended (programmatic
// dependent launch, compute capability 9.0).
//
// A launch may begin early if the thread has a ChainedLaunches and the stream's previous work is
// also a kernel of common/launch.cuh: CUDA graphs have such edges between kernels only. After other
// work in the stream (a copy, a library's call) the caller calls other_work(). Only the chain's
// owner may use the stream meanwhile. Every kernel must call wait_for_previous() (launch.cuh):
// later launches rely on it, because a wait for one kernel covers all before it. Threads: each has
// its own chain.
#pragma once

namespace tandem::gpu_kernels {

struct LaunchChain {
  bool open = false, overlaps = false;
  bool behind_kernel = false;
  unsigned launches = 0;  // ever; wraps
};
inline thread_local LaunchChain launch_chain;

// The next launch begins when all before it has ended.
inline void other_work() { launch_chain.behind_kernel = false; }

// Opens a chain, of which the first launch is like any other. Not nested. Where it does not
// overlap, launches are serial as they are outside of chains; the tests' interpreter, which must
// find what would be wrong, overlaps them all the same.
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

// launch.cuh calls it at each launch: whether the launch is in a chain, directly after another.
inline bool follows_in_chain() {
  const bool follows = launch_chain.open && launch_chain.behind_kernel;
  launch_chain.behind_kernel = true;
  ++launch_chain.launches;
  return follows;
}

}  // namespace tandem::gpu_kernels
