// SPDX-License-Identifier: Apache-2.0
//
// chunk_rows: how many rows of prompts a step may have, so that running streams get their next
// tokens in time.
//
// The most rows with which the step is predicted to end within the target, beside `decode`. At
// least `least`, where the target cannot be met: prompts then advance slowly. Threads: pure
// functions. Errors: none. Cost: O(log most) step_time().
#pragma once

#include <vector>

#include "planner/mode/step_time.h"

namespace tandem::planner {

struct ChunkLimits {
  int least = 16, most = 512;
  double target_s = 0;
  std::vector<double> past = {};  // [units] tokens before the chunk, to which it attends; or none
};

int chunk_rows(const MachineModel& machine, const SubBatch& decode, const ChunkLimits& limits);

}  // namespace tandem::planner
