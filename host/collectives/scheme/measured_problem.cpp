// SPDX-License-Identifier: Apache-2.0
//
// The statistics of a Problem from the ranks' own vectors.
#include <algorithm>

#include "collectives/codec/format.h"
#include "collectives/scheme/problem.h"
#include "tensor/sparse/supports.h"

namespace tandem::collectives {

void fill_measured(Problem& problem, std::span<const SparseVector> by_rank) {
  problem.world = static_cast<int>(by_rank.size());
  problem.domain = by_rank.front().domain();
  const auto entries = sparse::measure_unions(by_rank, 1);
  const auto blocks =
      sparse::measure_unions(by_rank, std::max<std::uint64_t>(1, units_per_block(problem.domain)));
  problem.union_entries = entries.sizes;
  problem.union_blocks = blocks.sizes;
  problem.even_push_imbalance = entries.push_imbalance;
  problem.even_pull_imbalance = entries.pull_imbalance;
  problem.even_block_push_imbalance = blocks.push_imbalance;
  problem.even_block_pull_imbalance = blocks.pull_imbalance;
  const double mean = problem.union_entries[1];
  problem.entry_imbalance = mean > 0 ? static_cast<double>(entries.most_ids) / mean : 1;
}

}  // namespace tandem::collectives
