// SPDX-License-Identifier: Apache-2.0
//
// The exchanges of exchange.h with values of 16 bits (f16 or bf16). Every rounding error is added
// to a rank's residual, so nothing is lost.
//
// A rank rounds its values and keeps the difference, also the part beyond the type's range. Sums
// are in f64 in rank order, so all ranks get the same bits. Bytes per rank without frames (n ranks,
// U values, k entries per rank): narrow_mean 4 U (n - 1) / n in 2 steps: rank r adds up the r-th of
// n even slices, sends the rounded means and keeps the rounding errors. narrow_own_mean 6 k (n -
// 1), by an all-gather.
#pragma once

#include <span>
#include <vector>

#include "collectives/collective.h"
#include "collectives/sparsifier/candidates.h"

namespace tandem::collectives {

// True if options.wire is f16 or bf16.
bool is_narrow(const ReduceOptions& options);

// Replaces `values` by the mean over ranks, which have equally many. Returns the rounding errors
// that this rank keeps.
RawVector<float> narrow_mean(Group& group, std::vector<float>& values,
                             const ReduceOptions& options);

struct NarrowMean {
  Indices indices;             // the union, ascending
  std::vector<float> values;   // [indices]
  RawVector<float> remainder;  // rounding errors of the own entries
};

// own: ascending, different on every rank. values: [own]
NarrowMean narrow_own_mean(Group& group, std::uint64_t num_values, const Indices& own,
                           std::span<const float> values, const ReduceOptions& options);

}  // namespace tandem::collectives
