// SPDX-License-Identifier: Apache-2.0
//
// choose_mode: chooses where the attention of a step runs, by the predicted times of all modes.
//
// The modes are attention on the compute device alone, a share of the tokens on each unit, and the
// same in two sub-batches. Shares are computed by water-filling: all units with tokens end at the
// same time, and a unit whose fixed time is longer gets none. The mode with the least predicted
// time wins. If two modes are within 1 %, the simpler (earlier) one wins. Tokens that do not fit
// into the memory of the units are reported. Cost: O(units^2). Threads: pure functions. Errors:
// none.
#pragma once

#include <span>
#include <vector>

#include "planner/mode/step_time.h"

namespace tandem::planner {

enum class StepMode { kOwnAttention, kShares, kTwoSubBatches };

const char* mode_name(StepMode mode);  // "own attention", "shares", "two sub-batches"

// Decode rows and the tokens that they attend to. Tokens are divisible: sequences may be split.
struct AttentionLoad {
  double rows = 0;
  double tokens = 0;         // [units] tokens that fit
  std::vector<double> room;  // [units] tokens that the unit can hold
  double prompt_rows = 0;    // prompt rows, which pass only through the dense layers
  // Rows of one prompt; they are in one sub-batch. 0: few enough to be divided evenly.
  double chunk_rows = 0;
  // [units] Seconds of the prompt rows' attention and transfers if the unit held all tokens; empty:
  // none. The pages of a prompt are on one unit, so no other unit's work overlaps with these
  // seconds. The dense layers of the other sub-batch do overlap with them.
  std::vector<double> serial_s = {};
};

struct ModeChoice {
  StepMode mode = StepMode::kOwnAttention;
  std::vector<double> shares;  // [units] tokens
  double missing_tokens = 0;   // tokens that fit nowhere
  StepTime time;
};

// The time of a unit: fixed_s + tokens * per_token_s, for 0 < tokens <= room.
struct FillUnit {
  double fixed_s = 0, per_token_s = 0, room = 0;
};

// [units] Returns the tokens per unit so that the last unit ends as early as possible. Their sum is
// less than `tokens` if the rooms are too small.
std::vector<double> water_fill(std::span<const FillUnit> units, double tokens);

// The predicted time of a mode with given shares. Rows are computed on the units that hold their
// tokens.
StepTime time_of_shares(const MachineModel& machine, const AttentionLoad& load,
                        std::span<const double> shares, int num_sub_batches);

ModeChoice choose_mode(const MachineModel& machine, const AttentionLoad& load);

}  // namespace tandem::planner
