// SPDX-License-Identifier: Apache-2.0
//
// Faults of the interpreted runtime: full memory, a GPU lost during a stream's work, a failed
// capture, a missing or old driver, blocks with little shared memory.
//
// Every runtime call and every kernel passes enter(), which counts it and decides its result. A
// test can count the calls of a step, then fail each of them in turn. A lost device fails every
// later call, cudaFree too, until clear_faults(); work in flight is never done. Threads: one.
#pragma once

#include <cuda_runtime_api.h>

namespace tandem::simt {

enum class Call {
  kAllocate,  // device memory and pinned memory
  kWork,      // kernels, copies, memsets, launches of graphs
  kCapture,   // begin and end
  kInstantiate,
  kOther
};

struct Faults {
  int out_of_memory_at = 0;    // the n-th allocation from now fails, counted from 1; 0: none
  int out_of_memory_from = 0;  // the n-th and all behind it
  int lose_at_work = 0;        // the device is lost at the n-th piece of work from now
  int refuse_at_work = 0;      // the n-th piece of work is refused; the device stays usable
  bool no_graphs = false;      // captures fail, and leave the stream as it was
  int driver_version = CUDART_VERSION;       // 0: no driver; below the runtime's: too old
  int num_devices = 1;                       // at most 8
  int capability = 80;                       // of the devices, and of the code they run
  unsigned block_shared_bytes = 227 * 1024;  // shared memory of a block: an H100's
};

// Counts start again, and a lost device is back, with empty memory: what stood there is leaked.
void set_faults(const Faults& faults);
inline void clear_faults() { set_faults({}); }

// Since set_faults().
int allocations();
int pieces_of_work();
int graphs_made();

// False in programs that run the cases on a GPU (tests/drivers/cuda/real_gpu.cpp), where these
// functions do nothing.
bool is_interpreted();

// For the runtime itself.
const Faults& faults();
bool lost();
cudaError_t enter(Call call);
cudaError_t leave(cudaError_t error);  // remembers what cudaGetLastError gives next
cudaError_t take_last_error();
void empty_device_memory();

}  // namespace tandem::simt
