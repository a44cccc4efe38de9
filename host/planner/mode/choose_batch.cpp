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
// Twice as many sequences must gain 0.7 %: a crowd prefills at first and then decodes, and neither
// hides the other.
constexpr double kPriceOfRows = 0.01;
constexpr double kClearly = 0.98;

double mean_tokens(const Outlook& outlook) { return outlook.prompt + outlook.output / 2; }

// At a ratio of about 1.2, and those that the own memory just holds.
std::vector<double> numbers_to_try(const MachineModel& machine, const Outlook& outlook) {
  double own = 0;
  for (std::size_t u = 0; u < machine.units.size(); ++u) {
    if (machine.units[u].is_own) own = std::floor(outlook.room[u] / mean_tokens(outlook));
  }
  std::vector<double> numbers = {outlook.most_rows};
  if (own >= 1 && own < outlook.most_rows) numbers.push_back(own);
  for (double rows = 1; rows < outlook.most_rows;) {
    numbers.push_back(rows);
    rows = std::max(rows + 1, std::floor(rows * kRatio));
  }
  std::ranges::sort(numbers);
  return numbers;
}

// Seconds of a step with these shares, in one sub-batch or two as in each step.
double step_seconds(const MachineModel& machine, const AttentionLoad& load,
                    const std::vector<double>& shares) {
  const double one = time_of_shares(machine, load, shares, 1).total;
  return load.rows < 2 ? one : std::min(one, time_of_shares(machine, load, shares, 2).total);
}

AttentionLoad decode_rows_of(AttentionLoad load) {
  load.prompt_rows = 0;
  load.serial_s.clear();
  return load;
}

// Mean seconds of a step. Prompts fill a step with a chunk as soon as sequences end, so that some
// steps are full and others have decode rows alone.
double steady_seconds(const MachineModel& machine, AttentionLoad load, double chunk,
                      const std::vector<double>& shares) {
  const double share = load.prompt_rows / chunk;  // of steps that have a chunk
  if (share >= 1) return step_seconds(machine, load, shares);
  const AttentionLoad decode = decode_rows_of(load);
  for (double& seconds : load.serial_s) seconds /= share;
  load.prompt_rows = chunk;
  return share * step_seconds(machine, load, shares) +
         (1 - share) * step_seconds(machine, decode, shares);
}

// The same for sequences of a burst: they prefill first, and then their tokens grow together.
double burst_seconds(const MachineModel& machine, const AttentionLoad& load, const Outlook& outlook,
                     const std::vector<double>& shares) {
  double seconds = 0;
  for (const double age : {1.0 / 6, 1.0 / 2, 5.0 / 6}) {
    AttentionLoad decode = decode_rows_of(load);
    const double now = (outlook.prompt + age * outlook.output) / mean_tokens(outlook);
    std::vector<double> held = shares;
    decode.tokens *= now;
    for (double& tokens : held) tokens *= now;
    seconds += step_seconds(machine, decode, held) / 3;
  }
  for (std::size_t u = 0; u < load.serial_s.size(); ++u) {
    seconds += load.serial_s[u] * shares[u] / load.tokens;
  }
  return seconds;
}

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
  AttentionLoad load;
  double ended = rows / outlook.output;  // per step
  if (!outlook.prompts_elsewhere) {
    // Each sequence takes its prompt and its output from the rows of steps. Where these are too
    // few, some sequences wait with a part of their prompt, and only the others decode.
    ended = std::min(ended, outlook.step_rows / (outlook.prompt + outlook.output));
    load.prompt_rows = ended * outlook.prompt;
    load.serial_s = prompt_seconds(machine, outlook);
    for (double& seconds : load.serial_s) seconds *= ended;
  }
  load.rows = ended * outlook.output;
  load.tokens = load.rows * mean_tokens(outlook);
  const double all = rows / load.rows;  // sequences per one that decodes
  for (const double room : outlook.room) load.room.push_back(room / all);
  const double left = std::max(1.0, outlook.step_rows - load.rows);
  const auto seconds_of = [&](const ModeChoice& mode) {
    return load.prompt_rows > 0 ? steady_seconds(machine, load, left, mode.shares)
                                : mode.time.total;
  };
  BatchChoice choice{rows, 0, choose_mode(machine, load)};
  double seconds = seconds_of(choice.mode);
  // What is best between prompts: where it is better on the whole, or simpler and hardly worse.
  ModeChoice between = choose_mode(machine, decode_rows_of(load));
  const double between_s = seconds_of(between);
  const auto burst = [&](const ModeChoice& mode) {
    return burst_seconds(machine, load, outlook, mode.shares);
  };
  const double allowance = between.mode < choice.mode.mode ? kClearly : 1;
  if (between.missing_tokens <= choice.mode.missing_tokens &&
      allowance * (between_s + burst(between)) < seconds + burst(choice.mode)) {
    choice.mode = std::move(between);
    seconds = between_s;
  }
  if (seconds > 0) choice.tokens_per_s = load.rows / seconds;
  for (double& share : choice.mode.shares) share *= all;
  choice.mode.missing_tokens *= all;
  return choice;
}

BatchChoice choose_batch(const MachineModel& machine, const Outlook& outlook) {
  BatchChoice best;
  double most_worth = 0;
  for (const double rows : numbers_to_try(machine, outlook)) {
    BatchChoice next = batch_of(machine, outlook, rows);
    if (next.mode.missing_tokens > 0) break;
    const double worth = next.tokens_per_s * std::pow(rows, -kPriceOfRows);
    if (worth <= most_worth) continue;
    most_worth = worth;
    best = std::move(next);
  }
  return best;
}

}  // namespace tandem::planner
