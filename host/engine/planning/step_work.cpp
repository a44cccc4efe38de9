// SPDX-License-Identifier: Apache-2.0
//
// Tokens per unit, in proportion to the blocks that it holds.
#include "engine/planning/step_work.h"

namespace tandem::engine {

void add_step_work(const planner::MachineModel& machine, const StepItem& item,
                   const PageTable& table, planner::SubBatch& batch) {
  const double rows = item.num_rows;
  const bool is_decode = item.num_rows == 1;
  const double seen = item.begin + (is_decode ? 1 : 0);
  batch.rows += rows;
  batch.sampled += item.samples ? 1 + item.num_drafts : 0;
  if (!is_decode) batch.causal_pairs += rows * (rows + 1) / 2;
  const auto num_blocks = static_cast<double>(table.blocks.size());
  const int home = table.blocks.empty() ? -1 : table.blocks.back().unit;
  for (std::size_t u = 0; u < table.held.size() && u < machine.units.size(); ++u) {
    if (table.held[u] == 0) continue;
    const double held = seen * table.held[u] / num_blocks;
    // The last block takes the new tokens. Other units have work only if they hold earlier tokens.
    if (held < 1 && static_cast<int>(u) != home) continue;
    batch.units[u] += machine.units[u].attention.work_of(rows, held);
  }
}

}  // namespace tandem::engine
