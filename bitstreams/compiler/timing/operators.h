// SPDX-License-Identifier: Apache-2.0
//
// How long an operation takes in the fabric: whole cycles, then nanoseconds within a cycle.
//
// One table for clocks above 200 MHz, one for slower ones. Source: reports of Vitis HLS 2022.2 for
// U250 at 300 MHz, and public reports at 100 MHz; operations that no report names have the nearest
// one's figures. Pure.
#pragma once

#include <string>

#include "bitstreams/compiler/timing/ir_text.h"

namespace tandem::timing {

struct OperatorTime {
  double cycles = 0;
  double ns = 0;
  bool known = true;
};

OperatorTime operator_time(const IrInstruction& instruction, double clock_mhz);

// The part of a cycle that operations may fill.
double usable_ns(double clock_mhz);

enum class Library { kNone, kStreamRead, kStreamWrite, kStreamTest, kCopy, kFill, kIgnored };
// What a called function of a library is. `name` as in the IR, also mangled.
Library library_function(const std::string& name);

}  // namespace tandem::timing
