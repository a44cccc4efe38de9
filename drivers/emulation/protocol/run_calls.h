// SPDX-License-Identifier: Apache-2.0
//
// RunCalls: the calls by which the runtime guard informs the shim about a program's xrt::run
// objects, which XRT does not expose.
//
// Both are libraries in one process; the guard gets the table from the shim once. A run is
// identified by its command packet, an ert_packet in a card's packet area. Threads: any.
#pragma once

#include <cstdint>

namespace tandem::emulation {

// What a program sets an argument to: a buffer at this device address, or a value.
struct GivenArgument {
  bool is_buffer = false;
  std::uint64_t num_bytes = 0;
  std::uint64_t address = 0;
};

struct RunCalls {
  // A run was made; no argument is set yet. `by_program`: false if XRT's OpenCL library made it,
  // because that library sets some arguments in its own way.
  void (*made)(const void* packet, bool by_program);
  // Argument `index` is set. `refusal`: why XRT refuses it, otherwise null.
  void (*set)(const void* packet, int index, const GivenArgument& given, const char* refusal);
  // Why argument `index` cannot be a buffer; null: it can, or the kernel is not known.
  const char* (*why_no_buffer)(const void* packet, int index);
  // The program waited for a run or asked for its state.
  void (*state_queried)();
  // The program knows that a run is over. `by_wait`: it has waited for that, and not only looked.
  void (*waited)(const void* packet, bool by_wait);
  // A wait of the program for a run ended by its time limit, before the run.
  void (*timed_out)(const void* packet);
  // The program learns by a callback, an event or the packet, which it has got, when the run ends,
  // or the run repeats until it is stopped.
  void (*told_later)(const void* packet);
  // XRT's OpenCL library has made the run for a kernel that this thread enqueues, or for a further
  // work-group of an earlier one.
  void (*of_opencl)(const void* packet);
};

// The name of the shim's function. It returns null if no card of this process has checks.
constexpr const char* kRunCallsFunction = "tandem_run_calls";
using RunCallsFunction = const RunCalls*();

}  // namespace tandem::emulation
