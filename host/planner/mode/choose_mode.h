// SPDX-License-Identifier: Apache-2.0
//
// choose_mode: where the attention of a step should run, by the predicted times of all modes.
//
// Modes: the compute device's own attention alone; a share of the tokens on each unit; the same in
// two sub-batches. Shares are found by water-filling: all units that take part end at the same
// time, and a unit whose way there takes longer than that takes nothing. The mode with the least
// predicted time wins; of two within 1 % the simpler one, which is the first. What the memory of
// the units cannot hold is reported. Cost: O(units^2). Threads: pure functions. Errors: none.
#pragma once

#include <span>
#include <vector>

#include "planner/mode/step_time.h"

namespace tandem::planner {

enum class StepMode { kOwnAttention, kShares, kTwoSubBatches };

const char* mode_name(StepMode mode);  // "own attention", "shares", "two sub-batches"

// Decode rows with the tokens that they see; sequences are whole or split, so tokens are divisible.
struct AttentionLoad {
  double rows = 0;
  double tokens = 0;         // of all rows
  std::vector<double> room;  // [units] tokens that the unit can hold
  double prompt_rows = 0;    // beside them, through the dense layers alone
  // [units] Seconds that nothing hides, if the unit held all tokens; none where empty.
  std::vector<double> serial_s = {};
};

struct ModeChoice {
  StepMode mode = StepMode::kOwnAttention;
  std::vector<double> shares;  // [units] tokens
  double missing_tokens = 0;   // that no unit can hold
  StepTime time;
};

// What a unit needs for tokens: fixed_s + tokens * per_token_s, for 0 < tokens <= room.
struct FillUnit {
  double fixed_s = 0, per_token_s = 0, room = 0;
};

// [units] Tokens per unit, so that the last to end ends as soon as possible. Less than `tokens`
// where the rooms are too small.
std::vector<double> water_fill(std::span<const FillUnit> units, double tokens);

// The predicted time of a mode with given shares; rows go where their tokens are.
StepTime time_of_shares(const MachineModel& machine, const AttentionLoad& load,
                        std::span<const double> shares, int num_sub_batches);

ModeChoice choose_mode(const MachineModel& machine, const AttentionLoad& load);

}  // namespace tandem::planner
