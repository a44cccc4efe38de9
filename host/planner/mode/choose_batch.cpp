// SPDX-License-Identifier: Apache-2.0
//
// The rate of a batch in a steady state: each sequence that ends is followed by another one, so a
// decode row brings prompt / output rows of prompts with it, as far as a step has room for them.
#include "planner/mode/choose_batch.h"

#include <algorithm>
#include <cmath>

namespace tandem::planner {
namespace {

constexpr double kRatio = 1.2;

double mean_tokens(const Outlook& outlook) { return outlook.prompt + outlook.output / 2; }

}  // namespace

std::vector<double> prompt_seconds(const MachineModel& machine, const Outlook& outlook) {
  const double chunk = std::clamp(outlook.step_rows / 2, 1.0, outlook.prompt);
  const double chunks = outlook.prompt / chunk;
  const double pairs = outlook.prompt * (outlook.prompt - chunk) / 2;
  std::vector<double> seconds;
  for (const UnitModel& unit : machine.units) {
    const AttentionCost& cost = unit.attention;
    double layer = chunks * unit.launch_s;
    if (pairs > 0) {
      layer += cost.seconds(
          {outlook.prompt, pairs / std::min<double>(cost.rows_per_read, chunk), pairs});
    }
    if (!unit.is_own) {
      layer += chunks * unit.to_unit.seconds(chunk * machine.bytes_to_unit) +
               chunks * unit.from_unit.seconds(chunk * machine.bytes_from_unit);
    }
    seconds.push_back(machine.num_layers * layer);
  }
  return seconds;
}

BatchChoice batch_of(const MachineModel& machine, const Outlook& outlook, double rows) {
  AttentionLoad load{rows, rows * mean_tokens(outlook), outlook.room};
  double ended = rows / outlook.output;  // per step
  if (!outlook.prompts_elsewhere) {
    const double left = std::max(1.0, outlook.step_rows - rows);
    ended = std::min(ended, left / outlook.prompt);
    load.prompt_rows = ended * outlook.prompt;
    load.serial_s = prompt_seconds(machine, outlook);
    for (double& seconds : load.serial_s) seconds *= ended;
  }
  BatchChoice choice{rows, 0, choose_mode(machine, load)};
  if (choice.mode.time.total > 0) {
    choice.tokens_per_s = ended * outlook.output / choice.mode.time.total;
  }
  return choice;
}

BatchChoice choose_batch(const MachineModel& machine, const Outlook& outlook) {
  BatchChoice best;
  double rows = 1;
  while (true) {
    const BatchChoice next = batch_of(machine, outlook, rows);
    if (next.mode.missing_tokens > 0) break;
    if (next.tokens_per_s > best.tokens_per_s) best = next;
    if (rows >= outlook.most_rows) break;
    rows = std::min(outlook.most_rows, std::max(rows + 1, std::floor(rows * kRatio)));
  }
  return best;
}

}  // namespace tandem::planner
