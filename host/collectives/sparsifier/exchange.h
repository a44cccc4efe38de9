// SPDX-License-Identifier: Apache-2.0
//
// The ways in which sparsifiers exchange what they have selected.
//
// Each fills result.mean, selected*, sent, build_up and inefficiency. Steps and bytes per rank (n
// ranks, k entries each, U in the union), without frames and headers:
//   reduce_own            the scheme's, on k entries; and one all-gather of 8 bytes
//   reduce_union          all-gather of 4 k + 4; all-reduce of 4 U
//   reduce_agreed         all-reduce of 4 U: every rank knows the indices
// With ReduceOptions::wire f16 or bf16, values take 2 bytes instead; see narrow_exchange.h. Errors:
// those of the collective calls; the accumulated values are then unchanged.
#pragma once

#include <span>

#include "collectives/sparsifier/algorithm.h"

namespace tandem::collectives {

enum class Selectors : std::uint8_t {
  kEveryRankAll,  // each rank selects from the whole gradient, and sends only its selection
  kExclusive,     // ranks select from disjoint parts, or one rank for all
};

// Every rank sends the values of the store at its own entries `own`. Clears nothing.
void reduce_own(StepContext& context, ResidualStore& store, const Indices& own,
                const ReduceOptions& options);

// Every rank sends its values at the indices that any rank selected, and returns these indices.
// `known`: indices that all ranks already know to be selected; they are not in `own`.
Indices reduce_union(StepContext& context, ResidualStore& store, const Indices& own,
                     Selectors selectors, const ReduceOptions& options, const Indices& known = {});

// The same if all ranks have equal `indices`.
void reduce_agreed(StepContext& context, ResidualStore& store, const Indices& indices,
                   const ReduceOptions& options);

// Writes the counts of all ranks into the result.
void count_selected(StepContext& context, const std::vector<std::uint64_t>& counts);

std::uint64_t sum_of(const std::vector<std::uint32_t>& notes);

// options for an all-reduce of dense values, in their own type
ReduceOptions dense_options(const ReduceOptions& options);

SparseTensor make_sparse(std::uint64_t num_values, const Indices& indices,
                         std::span<const float> values);

}  // namespace tandem::collectives
