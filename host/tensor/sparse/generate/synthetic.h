// SPDX-License-Identifier: Apache-2.0
//
// Synthetic sparse gradients with a stated density, skew and overlap.
//
// Values are multiples of 1/256, at most 4 in magnitude and never zero, so sums of 1,024 ranks are
// exact in f32 in any order. The same options, rank and seed give the same bits. Definitions (n
// ranks): skew s = busiest of n even ranges over the mean; overlap of two supports = |I1 and I2| /
// min(|I1|, |I2|); the overlap of independent supports is the density. Cost: O(entries / overlap).
// Threads: any. Errors: Error if the options contradict each other.
#pragma once

#include <cstdint>

#include "tensor/sparse/sparse_vector.h"

namespace tandem::sparse {

// There are two families of supports. With a head (skew), the first `head_fraction` of the units
// gets `head_share` of every rank's entries, spread evenly; the other units get the rest, spread
// evenly. Ranks draw from a common pool whose size gives the stated overlap. With a Zipf exponent,
// unit i is present with probability 1 - exp(-a (i + 1)^-exponent), independently on every rank (a
// rank's count is kept within 1 % of the density). Batches of Zipf-distributed tokens give an
// embedding such a support; the exponent determines skew and overlap.
struct SyntheticOptions {
  Domain domain;               // below 2^32 units
  double density = 0.01;       // a rank's entries over the units
  double head_fraction = 1.0;  // see above; equal to head_share: no skew
  double head_share = 1.0;
  double overlap = -1;          // 0: disjoint (density x world at most 1); negative: independent
  double zipf_exponent = 0;     // positive: the second family; head and overlap are ignored
  std::uint64_t run_units = 1;  // entries come in aligned runs of this many units (clustering)
};

// Skew s over `num_ranges` even ranges: the first range is the busiest, the others are equal.
void set_skew(SyntheticOptions& options, double skew, int num_ranges);
// 60 % of the entries in the first eighth.
void set_first_eighth_skew(SyntheticOptions& options);

SparseVector synthetic_gradient(const SyntheticOptions& options, int rank, int world,
                                std::uint64_t seed);

// Fills [num_entries, width] f32 values as described above, from (seed, rank).
void fill_values(SparseVector& vector, int rank, std::uint64_t seed);

}  // namespace tandem::sparse
