// SPDX-License-Identifier: Apache-2.0
//
// Partition maps each unit to the rank that owns it, and to an index among the units of that owner.
//
// All ranks compute unit -> (owner, local) in the same way, without a table. The function is
// invertible and keeps the order of units inside an owner. Split vectors therefore stay sorted, and
// a bitmap over an owner's local indices is the "hash bitmap" of balanced parallelism. Threads:
// immutable, any. Source: Wang et al., ZEN, OSDI 2025, section 3 (h0); the grouping is ours.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/sparse/sparse_vector.h"

namespace tandem::sparse {

class Partition {
 public:
  enum class Kind : std::uint8_t { kEven, kBounded, kHashed };

  // owner = i / ceil(N / n).
  static Partition even(std::uint64_t num_units, int num_owners);
  // Owner by ascending bounds (Ok-Topk's consensus regions). bounds: [num_owners + 1], ascending,
  // from 0 to num_units.
  static Partition bounded(std::vector<std::uint64_t> bounds);
  // A group is n consecutive units; group g gives each owner exactly one: owner = (i + h(g)) mod n,
  // local = g. Owners own equal numbers of units. For any support chosen without knowledge of the
  // seed, non-zeros balance as with random hashing.
  static Partition hashed(std::uint64_t num_units, int num_owners, std::uint64_t seed);

  Kind kind() const { return kind_; }
  int num_owners() const { return num_owners_; }
  std::uint64_t num_units() const { return num_units_; }

  int owner(std::uint64_t unit) const;
  std::uint64_t local(std::uint64_t unit) const;             // index among the owner's units
  std::uint64_t unit(int owner, std::uint64_t local) const;  // the inverse
  // Size of the owner's local domain. Hashed: ceil(N / n) for every owner; the last group may give
  // an owner an index that belongs to no unit.
  std::uint64_t num_local(int owner) const;

  // The vector's entries by owner, with local indices. [num_owners]
  std::vector<SparseVector> split(const SparseVector& vector) const;

  // The union of disjoint parts with local indices, sorted: the inverse of split.
  // parts: [num_owners]; moved from.
  SparseVector join(std::vector<SparseVector> parts, Domain domain) const;

  std::uint64_t seed() const { return seed_; }  // only for hashed

 private:
  std::uint64_t first_unit(int owner) const;  // only for even and bounded

  Kind kind_ = Kind::kEven;
  int num_owners_ = 1;
  std::uint64_t num_units_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<std::uint64_t> bounds_;
};

}  // namespace tandem::sparse
