// SPDX-License-Identifier: Apache-2.0
//
// Inputs for the schemes' tests: supports of every awkward shape, values whose sums are exact in
// every wire type, and the naive reduction of them.
//
// Values are integers from -4 to 4 but 0 (1 to 4 for u64): sums of 16 ranks are exact in f16 and
// bf16. The naive reduction is a map from units to rows of doubles, rank by rank.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collectives/scheme/scheme.h"

namespace tandem::test {

enum class Support { kRandom, kOneRankOnly, kEqual, kDisjoint, kClustered, kOneOwner, kEmpty };
constexpr Support kAllSupports[] = {Support::kRandom,   Support::kOneRankOnly, Support::kEqual,
                                    Support::kDisjoint, Support::kClustered,   Support::kOneOwner,
                                    Support::kEmpty};
std::string support_name(Support support);

// The units of each rank, ascending. kOneOwner: all fall to owner 0 of the hashed partition of
// `hash_seed`, the worst that an adversary who knows the seed can do.
std::vector<std::vector<std::uint64_t>> make_supports(Support support, std::uint64_t num_units,
                                                      int world, std::uint64_t hash_seed);

// A vector of `type` on these units.
sparse::SparseVector make_vector(sparse::Domain domain, DType type,
                                 const std::vector<std::uint64_t>& units, std::uint64_t seed);

using NaiveRows = std::map<std::uint64_t, std::vector<double>>;
// kMean: divided by the number of vectors.
NaiveRows reduce_naively(const std::vector<sparse::SparseVector>& by_rank,
                         sparse::Reduction reduction);

// Sorted entries; of a dense result the units that differ from the identity in any value.
sparse::SparseVector present_entries(const collectives::Reduced& reduced,
                                     sparse::Reduction reduction);

// Empty where `sum` has exactly the rows of `expected` to within `tolerance` x (1 + magnitude).
// Rows of zeros, to within the tolerance, may be absent on either side (sums that cancel).
std::string difference(const sparse::SparseVector& sum, const NaiveRows& expected,
                       double tolerance);

// Everything that ranks must have in common, as bytes.
std::vector<std::byte> bits_of(const collectives::Reduced& reduced);

}  // namespace tandem::test
