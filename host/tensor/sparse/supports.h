// SPDX-License-Identifier: Apache-2.0
//
// Exact statistics of the ranks' supports, from the supports themselves.
//
// For tests and simulations, where one process has the vectors of all ranks. Definitions of skew
// and overlap: generate/synthetic.h. Cost: one merge pass of all supports. Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/sparse/sparse_vector.h"

namespace tandem::sparse {

struct SupportStatistics {
  double density = 0;  // mean over ranks
  double skew = 1;     // busiest of n even ranges over the mean, of all ranks' entries
  double overlap = 0;  // mean over neighbouring pairs of |I1 and I2| / min; 0 for one rank
  double union_entries = 0;
};

SupportStatistics measure_supports(std::span<const SparseVector> by_rank);

// The unions of the ranks' supports, counted in ids: an id is a run of `units_per_id` units.
struct UnionStatistics {
  // [ranks + 1]; [k]: ids in the union of k ranks' supports, the mean over every choice of k ranks
  // (an id that m of n ranks hold is in the union with probability 1 - C(n - m, k) / C(n, k)).
  std::vector<double> sizes;
  // The load of the busiest of n even ranges divided by the mean, at least 1. First for the worst
  // rank, then for the union of all.
  double push_imbalance = 1;
  double pull_imbalance = 1;
  std::size_t most_ids = 0;  // the most ids of one rank
};

UnionStatistics measure_unions(std::span<const SparseVector> by_rank, std::uint64_t units_per_id);

// UnionStatistics::sizes from how many ids exactly m ranks hold.
// held_by: [world + 1]; [m] = number held by m ranks.
std::vector<double> union_sizes(std::span<const double> held_by);

}  // namespace tandem::sparse
