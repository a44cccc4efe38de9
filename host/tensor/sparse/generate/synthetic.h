// SPDX-License-Identifier: Apache-2.0
//
// Synthetic sparse gradients with a stated density, skew and overlap.
//
// Two families of supports. With a head (skew): the first `head_fraction` of the units gets
// `head_share` of every rank's entries, spread evenly within, and so does the rest; ranks draw from
// a common pool sized so that two of them overlap as asked. With a Zipf exponent: unit i is present
// with probability 1 - exp(-a (i + 1)^-exponent), independently on every rank (a rank's count is
// kept within 1 % of the density). Batches of Zipf-distributed tokens do this to an embedding; skew
// and overlap follow from it. Definitions (n ranks): skew s = busiest of n even ranges over the
// mean; overlap of two supports = |I1 and I2| / min(|I1|, |I2|); independent supports overlap by
// the density. Values are multiples of 1/256, at most 4 in magnitude and never zero, so sums of
// 1,024 ranks are exact in f32 whatever their order. Same options, rank and seed: the same bits.
// Cost: O(entries / overlap). Threads: any. Errors: Error where the options contradict each other.
#pragma once

#include <cstdint>

#include "tensor/sparse/sparse_vector.h"

namespace tandem::sparse {

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
