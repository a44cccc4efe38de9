// SPDX-License-Identifier: Apache-2.0
//
// The latencies of operations in the fabric: whole cycles, and nanoseconds within a cycle.
//
// There is one table for clocks above 200 MHz and one for slower clocks. Source: reports of Vitis
// HLS 2022.2 for U250 at 300 MHz, and public reports at 100 MHz. Operations that no report lists
// have the figures of the most similar one. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bitstreams/compiler/timing/ir_text.h"

namespace tandem::timing {

struct OperatorTime {
  double cycles = 0;
  double ns = 0;
  bool known = true;
};

OperatorTime operator_time(const IrInstruction& instruction, double clock_mhz);

// The part of a cycle that operations may use.
double usable_ns(double clock_mhz);

// kWide: an operation of ap_int or ap_fixed that was not inlined.
enum class Library { kNone, kStreamRead, kStreamWrite, kStreamTest, kCopy, kFill, kWide, kIgnored };
// What a called function of a library is. `name` as in the IR, also mangled.
Library library_function(const std::string& name);

bool is_call(const IrInstruction& instruction);
// The functions that it calls, or, as a region of processes does, starts (true).
std::vector<std::pair<std::string, bool>> callees(const IrInstruction& call);

}  // namespace tandem::timing
