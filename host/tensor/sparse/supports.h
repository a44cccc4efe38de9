// SPDX-License-Identifier: Apache-2.0
//
// Exact statistics of the ranks' supports, from the supports themselves.
//
// For tests and simulations, where one process has every rank's vector; a running group estimates
// the same from sketches (selection/profile.h). Definitions: synthetic.h and scheme/problem.h.
// Cost: one merge pass of all supports. Threads: any.
#pragma once

#include <span>

#include "collectives/scheme/problem.h"
#include "collectives/sparse/sparse_vector.h"

namespace tandem::collectives {

struct SupportStatistics {
  double density = 0;  // mean over ranks
  double skew = 1;     // busiest of n even ranges over the mean, of all ranks' entries
  double overlap = 0;  // mean over neighbouring pairs of |I1 and I2| / min; 0 for one rank
  double union_entries = 0;
};

SupportStatistics measure_supports(std::span<const SparseVector> by_rank);

// Fills union_entries, union_blocks and the imbalances of `problem` for world = by_rank.size():
// exact, the unions as means over every choice of k ranks (a unit held by m of n ranks is in the
// union with probability 1 - C(n - m, k) / C(n, k)).
void fill_measured(Problem& problem, std::span<const SparseVector> by_rank);

// Fills *_entries and *_blocks for all k from how many units (blocks) exactly m ranks hold.
// held_by: [world + 1]; [m] = number held by m ranks.
std::vector<double> union_sizes(std::span<const double> held_by);

}  // namespace tandem::collectives
