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
  const double share = load.prompt_rows / chunk;  // share of the steps that have a chunk
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
    // The own memory has no links.
    layer += chunks * unit.to_unit.seconds(chunk * machine.bytes_to_unit) +
             chunks * unit.from_unit.seconds(chunk * machine.bytes_from_unit);
    seconds.push_back(machine.num_layers * layer);
  }
  return seconds;
}

namespace {

// A load in a steady state, and how many sequences there are per one that decodes.
struct Steady {
  AttentionLoad load;
  double all = 1;
};

// Each sequence takes its prompt and its output from the rows of steps. Where these are too few,
// some sequences wait with a part of their prompt, and only the others decode.
Steady steady_of(const Outlook& outlook, const std::vector<double>& prompt_s, double rows) {
  Steady steady;
  AttentionLoad& load = steady.load;
  double ended = rows / outlook.output;  // per step
  if (!outlook.prompts_elsewhere) {
    ended = std::min(ended, outlook.step_rows / (outlook.prompt + outlook.output));
    load.prompt_rows = ended * outlook.prompt;
    load.chunk_rows = std::min(outlook.prompt, outlook.step_rows);
    load.serial_s = prompt_s;
    for (double& seconds : load.serial_s) seconds *= ended;
  }
  load.rows = ended * outlook.output;
  load.tokens = load.rows * mean_tokens(outlook);
  steady.all = rows / load.rows;
  for (const double room : outlook.room) load.room.push_back(room / steady.all);
  return steady;
}

double seconds_of(const MachineModel& machine, const Outlook& outlook, const AttentionLoad& load,
                  const ModeChoice& mode) {
  if (load.prompt_rows <= 0) return mode.time.total;
  return steady_seconds(machine, load, std::max(1.0, outlook.step_rows - load.rows), mode.shares);
}

// The best mode beside prompts, or that between prompts: where it is better on the whole, or
// simpler and hardly worse.
void suit_bursts(const MachineModel& machine, const Outlook& outlook, const AttentionLoad& load,
                 ModeChoice& mode) {
  const auto on_the_whole = [&](const ModeChoice& choice) {
    return seconds_of(machine, outlook, load, choice) +
           burst_seconds(machine, load, outlook, choice.shares);
  };
  ModeChoice between = choose_mode(machine, decode_rows_of(load));
  const double allowance = between.mode < mode.mode ? kClearly : 1;
  if (allowance * on_the_whole(between) < on_the_whole(mode)) mode = std::move(between);
}

BatchChoice batch_in(const MachineModel& machine, const Outlook& outlook,
                     const std::vector<double>& prompt_s, double rows) {
  const Steady steady = steady_of(outlook, prompt_s, rows);
  ModeChoice mode = choose_mode(machine, steady.load);
  suit_bursts(machine, outlook, steady.load, mode);
  const double seconds = seconds_of(machine, outlook, steady.load, mode);
  for (double& share : mode.shares) share *= steady.all;
  mode.missing_tokens *= steady.all;
  return {rows, seconds > 0 ? steady.load.rows / seconds : 0, std::move(mode)};
}

}  // namespace

BatchChoice batch_of(const MachineModel& machine, const Outlook& outlook, double rows) {
  return batch_in(machine, outlook, prompt_seconds(machine, outlook), rows);
}

BatchChoice choose_batch(const MachineModel& machine, const Outlook& outlook) {
  const std::vector<double> prompt_s = prompt_seconds(machine, outlook);
  BatchChoice best;
  double most_worth = 0;
  for (const double rows : numbers_to_try(machine, outlook)) {
    BatchChoice next = batch_in(machine, outlook, prompt_s, rows);
    if (next.mode.missing_tokens > 0) break;
    const double worth = next.tokens_per_s * std::pow(rows, -kPriceOfRows);
    if (worth > most_worth) most_worth = worth, best = std::move(next);
  }
  return best;
}

}  // namespace tandem::planner
