// SPDX-License-Identifier: Apache-2.0
//
// What the runtime guard tells the shim of a program's xrt::run objects, which XRT keeps to itself.
//
// Both are libraries of one process: the guard asks the shim for the table, once. A run is known by
// its command packet, an ert_packet in a card's packet area. Threads: any.
#pragma once

#include <cstddef>

namespace tandem::emulation {

struct RunCalls {
  // A run was made; none of its arguments is set. `by_program`: not by XRT's OpenCL library, which
  // sets some arguments in ways of its own.
  void (*made)(const void* packet, bool by_program);
  // Argument `index` is set to a buffer, or to a value of `num_bytes`. `refusal`: what XRT says
  // against it, else null.
  void (*set)(const void* packet, int index, bool is_buffer, std::size_t num_bytes,
              const char* refusal);
  // The program waited for a run or asked for its state.
  void (*looked)();
};

// The shim's function of this name; null: no card of this process checks anything.
constexpr const char* kRunCallsFunction = "tandem_run_calls";
using RunCallsFunction = const RunCalls*();

}  // namespace tandem::emulation
