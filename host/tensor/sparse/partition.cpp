// SPDX-License-Identifier: Apache-2.0
//
// The mapping, unit by unit; partition_vectors.cpp has it for whole vectors.
#include "tensor/sparse/partition.h"

#include <algorithm>
#include <utility>

#include "tensor/sparse/hashed_places.h"

namespace tandem::sparse {
namespace {

std::uint64_t ceil_div(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

}  // namespace

Partition Partition::even(std::uint64_t num_units, int num_owners) {
  Partition partition;
  partition.kind_ = Kind::kEven;
  partition.num_owners_ = num_owners;
  partition.num_units_ = num_units;
  return partition;
}

Partition Partition::bounded(std::vector<std::uint64_t> bounds) {
  TANDEM_CHECK(bounds.size() >= 2 && bounds.front() == 0);
  TANDEM_CHECK(std::is_sorted(bounds.begin(), bounds.end()));
  Partition partition;
  partition.kind_ = Kind::kBounded;
  partition.num_owners_ = static_cast<int>(bounds.size()) - 1;
  partition.num_units_ = bounds.back();
  partition.bounds_ = std::move(bounds);
  return partition;
}

Partition Partition::hashed(std::uint64_t num_units, int num_owners, std::uint64_t seed) {
  Partition partition = even(num_units, num_owners);
  partition.kind_ = Kind::kHashed;
  partition.seed_ = seed;
  return partition;
}

int Partition::owner(std::uint64_t unit) const {
  const auto n = static_cast<std::uint64_t>(num_owners_);
  switch (kind_) {
    case Kind::kEven:
      return static_cast<int>(unit / ceil_div(num_units_, n));
    case Kind::kBounded:
      return static_cast<int>(std::upper_bound(bounds_.begin(), bounds_.end() - 1, unit) -
                              bounds_.begin()) -
             1;
    case Kind::kHashed:
      return static_cast<int>((unit % n + rotation(unit / n, seed_, n)) % n);
  }
  return 0;
}

std::uint64_t Partition::local(std::uint64_t unit) const {
  const auto n = static_cast<std::uint64_t>(num_owners_);
  switch (kind_) {
    case Kind::kEven:
      return unit % ceil_div(num_units_, n);
    case Kind::kBounded:
      return unit - bounds_[static_cast<std::size_t>(owner(unit))];
    case Kind::kHashed:
      return unit / n;
  }
  return 0;
}

std::uint64_t Partition::unit(int owner, std::uint64_t local) const {
  const auto n = static_cast<std::uint64_t>(num_owners_);
  const auto owner_index = static_cast<std::uint64_t>(owner);
  switch (kind_) {
    case Kind::kEven:
      return owner_index * ceil_div(num_units_, n) + local;
    case Kind::kBounded:
      return bounds_[static_cast<std::size_t>(owner)] + local;
    case Kind::kHashed:
      return local * n + (owner_index + n - rotation(local, seed_, n)) % n;
  }
  return 0;
}

std::uint64_t Partition::first_unit(int owner) const {
  if (kind_ == Kind::kBounded) return bounds_[static_cast<std::size_t>(owner)];
  const std::uint64_t share = ceil_div(num_units_, static_cast<std::uint64_t>(num_owners_));
  return std::min(num_units_, static_cast<std::uint64_t>(owner) * share);
}

std::uint64_t Partition::num_local(int owner) const {
  const std::uint64_t share = ceil_div(num_units_, static_cast<std::uint64_t>(num_owners_));
  switch (kind_) {
    case Kind::kEven: {
      const std::uint64_t begin = std::min(num_units_, static_cast<std::uint64_t>(owner) * share);
      return std::min(share, num_units_ - begin);
    }
    case Kind::kBounded:
      return bounds_[static_cast<std::size_t>(owner) + 1] -
             bounds_[static_cast<std::size_t>(owner)];
    case Kind::kHashed:
      return share;
  }
  return 0;
}

}  // namespace tandem::sparse
