// SPDX-License-Identifier: Apache-2.0
//
// choose_batch: chooses how many sequences run at once, and the share of their tokens per unit.
//
// More sequences share one read of the weights, but a slow unit with too many tokens delays every
// step. The number with the most tokens per second wins, from the first prompt token of a sequence
// to its last output. Prompts go through the dense layers beside decode rows; each chunk attends to
// earlier chunks on the units that hold them. The tried numbers grow by a factor of about 1.2.
// Twice as many sequences must gain 0.7 %, or the smaller number wins. Threads: pure functions.
// Errors: none. Cost: tens of choose_mode() calls.
#pragma once

#include "planner/mode/choose_mode.h"

namespace tandem::planner {

struct Outlook {
  double prompt = 1, output = 1;   // expected mean tokens of a sequence
  double most_rows = 1;            // sequences that could run
  double step_rows = 1;            // the most rows of a step through the dense layers
  bool prompts_elsewhere = false;  // another machine computes them
  std::vector<double> room;        // [units] tokens that fit
};

struct BatchChoice {
  double rows = 0;  // 0: no unit holds a sequence
  double tokens_per_s = 0;
  ModeChoice mode;
};

// [units] Seconds that the chunks of a prompt add on the unit that holds it: the transfers of their
// rows, and attention to earlier chunks. These times do not overlap with the chunk itself.
std::vector<double> prompt_seconds(const MachineModel& machine, const Outlook& outlook);

// The figures of `rows` sequences at once. Shares and missing tokens are sums over them.
BatchChoice batch_of(const MachineModel& machine, const Outlook& outlook, double rows);

BatchChoice choose_batch(const MachineModel& machine, const Outlook& outlook);

}  // namespace tandem::planner
