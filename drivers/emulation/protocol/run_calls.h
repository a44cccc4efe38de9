// SPDX-License-Identifier: Apache-2.0
//
// RunCalls: the calls by which the runtime guard informs the shim about a program's xrt::run
// objects, which XRT does not expose.
//
// Both are libraries in one process; the guard gets the table from the shim once. A run is
// identified by its command packet, an ert_packet in a card's packet area. Threads: any.
#pragma once

#include <cstddef>

namespace tandem::emulation {

struct RunCalls {
  // A run was made; no argument is set yet. `by_program`: false if XRT's OpenCL library made it,
  // because that library sets some arguments in its own way.
  void (*made)(const void* packet, bool by_program);
  // Argument `index` is set to a buffer, or to a value of `num_bytes`. `refusal`: why XRT refuses
  // it, otherwise null.
  void (*set)(const void* packet, int index, bool is_buffer, std::size_t num_bytes,
              const char* refusal);
  // The program waited for a run or asked for its state.
  void (*state_queried)();
  // The program knows that a run is over.
  void (*waited)(const void* packet);
  // A wait of the program for a run ended by its time limit, before the run.
  void (*timed_out)(const void* packet);
  // The program learns by a callback or an event when the run ends, or the run repeats until it is
  // stopped.
  void (*told_later)(const void* packet);
};

// The name of the shim's function. It returns null if no card of this process has checks.
constexpr const char* kRunCallsFunction = "tandem_run_calls";
using RunCallsFunction = const RunCalls*();

}  // namespace tandem::emulation
