// SPDX-License-Identifier: Apache-2.0
//
// Partition: which rank owns a unit, and the unit's place among those its owner has.
//
// Every kind maps unit i to (owner, local) by an invertible function that all ranks compute alike,
// without a table, and that keeps the order of units inside an owner: split vectors stay sorted,
// and a bitmap over an owner's local places is the "hash bitmap" of balanced parallelism.
//   even       owner = i / ceil(N / n)
//   bounded    owner by explicit ascending bounds (Ok-Topk's consensus regions)
//   hashed     units fall into groups of n consecutive ones; group g gives each owner exactly one,
//              owner = (i + h(g)) mod n, local = g. Perfect balance of owned units; for any support
//              chosen without knowledge of the seed, non-zeros balance as with random hashing.
// Threads: immutable, any. Source: Wang et al., ZEN, OSDI 2025, section 3 (h0); the grouping is
// ours.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/sparse/sparse_vector.h"

namespace tandem::sparse {

class Partition {
 public:
  enum class Kind : std::uint8_t { kEven, kBounded, kHashed };

  static Partition even(std::uint64_t num_units, int num_owners);
  // bounds: [num_owners + 1], ascending, from 0 to num_units.
  static Partition bounded(std::vector<std::uint64_t> bounds);
  static Partition hashed(std::uint64_t num_units, int num_owners, std::uint64_t seed);

  Kind kind() const { return kind_; }
  int num_owners() const { return num_owners_; }
  std::uint64_t num_units() const { return num_units_; }

  int owner(std::uint64_t unit) const;
  std::uint64_t local(std::uint64_t unit) const;             // place among the owner's units
  std::uint64_t unit(int owner, std::uint64_t local) const;  // the inverse
  // Size of the owner's local domain. Hashed: ceil(N / n) for every owner; of the last group an
  // owner may hold a place that stands for no unit.
  std::uint64_t num_local(int owner) const;

  // The vector's entries by owner, indices turned local. [num_owners]
  std::vector<SparseVector> split(const SparseVector& vector) const;

  // The union of disjoint parts with local indices, sorted: the inverse of split.
  // parts: [num_owners]; moved from.
  SparseVector join(std::vector<SparseVector> parts, Domain domain) const;

  std::uint64_t seed() const { return seed_; }  // of hashed

 private:
  std::uint64_t first_unit(int owner) const;  // of even and bounded

  Kind kind_ = Kind::kEven;
  int num_owners_ = 1;
  std::uint64_t num_units_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<std::uint64_t> bounds_;
};

}  // namespace tandem::sparse
