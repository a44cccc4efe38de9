// SPDX-License-Identifier: Apache-2.0
//
// The latencies of operations in the fabric: whole cycles, and nanoseconds within a cycle.
//
// Floating-point cycles are interpolated between 100 and 300 MHz; conversions change at 200 MHz;
// the rest is the same at all clocks. Source: reports of Vitis HLS 2022.2 for U250 at 300 MHz, and
// public reports at 100 MHz; an operation in none is taken for the most similar one. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bitstreams/compiler/timing/ir_text.h"

namespace tandem::timing {

struct OperatorTime {
  double cycles = 0;
  double ns = 0;
  bool known = true;  // false: no figures, so it counts as 0
};

OperatorTime operator_time(const IrInstruction& instruction, double clock_mhz);

// The nanoseconds of a cycle that operations may use.
double usable_ns(double clock_mhz);

// kWide: an operation of ap_int or ap_fixed that was not inlined.
enum class Library { kNone, kStreamRead, kStreamWrite, kStreamTest, kCopy, kFill, kWide, kIgnored };
// The kind of a library function. `name` as in the IR, also mangled. kNone: any other function.
Library library_function(const std::string& name);

bool is_call(const IrInstruction& instruction);
// The functions that a call runs. true: it starts them as processes of a dataflow region.
std::vector<std::pair<std::string, bool>> callees(const IrInstruction& call);

}  // namespace tandem::timing
