// SPDX-License-Identifier: Apache-2.0
//
// chunk_rows: limits the prompt rows of a step, so that running streams get their next tokens in
// time.
//
// Returns the most rows with which the step, beside `decode`, is predicted to end within the
// target. Returns `least` if the target cannot be met, so that prompts still advance. Threads: pure
// functions. Errors: none. Cost: O(log most) step_time() calls.
#pragma once

#include <vector>

#include "planner/mode/step_time.h"

namespace tandem::planner {

struct ChunkLimits {
  int least = 16, most = 512;
  double target_s = 0;
  std::vector<double> past = {};  // [units] earlier tokens to which the chunk attends; may be empty
};

int chunk_rows(const MachineModel& machine, const SubBatch& decode, const ChunkLimits& limits);

}  // namespace tandem::planner
