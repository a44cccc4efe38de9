// SPDX-License-Identifier: Apache-2.0
//
// Bisection: a step with more rows never takes less time.
#include "planner/mode/chunk_rows.h"

#include <algorithm>

namespace tandem::planner {

int chunk_rows(const MachineModel& machine, const SubBatch& decode, const ChunkLimits& limits) {
  std::vector<SubBatch> step = {decode};
  StepTime time;
  int low = std::min(limits.least, limits.most), high = limits.most;
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    const double rows = middle;
    step[0].rows = decode.rows + rows;
    step[0].causal_pairs = rows * (rows + 1) / 2;
    for (std::size_t u = 0; u < limits.past.size(); ++u) {
      step[0].units[u] = decode.units[u];
      if (limits.past[u] <= 0) continue;
      step[0].units[u] += machine.units[u].attention.work_of(rows, limits.past[u]);
    }
    step_time(machine, step, time);
    if (time.total <= limits.target_s) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace tandem::planner
