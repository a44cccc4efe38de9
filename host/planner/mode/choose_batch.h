// SPDX-License-Identifier: Apache-2.0
//
// choose_batch: how many sequences should run at once, and which share of their tokens lies where.
//
// More sequences read the weights together, but a slow unit that holds too many holds up all. So
// the number with the most tokens per second wins, over the whole lives of the sequences: prompts
// go through the dense layers beside decode rows, and their chunks attend to the chunks before
// them, on the units that hold those. Numbers are tried at a ratio of about 1.2. Twice as many must
// gain 0.7 %, or the smaller number wins. Threads: pure functions. Errors: none. Cost: tens of
// choose_mode().
#pragma once

#include "planner/mode/choose_mode.h"

namespace tandem::planner {

struct Outlook {
  double prompt = 1, output = 1;   // mean tokens of a sequence, predicted
  double most_rows = 1;            // sequences that could run
  double step_rows = 1;            // through the dense layers, at most
  bool prompts_elsewhere = false;  // another machine computes them
  std::vector<double> room;        // [units] tokens
};

struct BatchChoice {
  double rows = 0;  // 0: no unit holds a sequence
  double tokens_per_s = 0;
  ModeChoice mode;
};

// [units] Seconds of the chunks of a prompt on the unit that holds it: its way there and back, and
// attention to the chunks before. Nothing hides them from the chunk itself.
std::vector<double> prompt_seconds(const MachineModel& machine, const Outlook& outlook);

// Of `rows` sequences at once; shares and missing tokens are those of all of them.
BatchChoice batch_of(const MachineModel& machine, const Outlook& outlook, double rows);

BatchChoice choose_batch(const MachineModel& machine, const Outlook& outlook);

}  // namespace tandem::planner
