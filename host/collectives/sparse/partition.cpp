// SPDX-License-Identifier: Apache-2.0
//
// split() is a counting sort by owner; join() merges disjoint ascending parts.
#include "collectives/sparse/partition.h"

#include <algorithm>
#include <utility>

#include "collectives/sparse/merge.h"

namespace tandem::collectives {
namespace {

// A finaliser of the splitmix64 family: every bit of the result depends on every bit of the input.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

// The group's rotation, 0 .. num_owners - 1.
std::uint64_t rotation(std::uint64_t group, std::uint64_t seed, std::uint64_t num_owners) {
  return static_cast<std::uint64_t>(
      (static_cast<unsigned __int128>(mix(group + seed)) * num_owners) >> 64);
}

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

std::vector<SparseVector> Partition::split(const SparseVector& vector) const {
  std::vector<std::size_t> counts(static_cast<std::size_t>(num_owners_));
  for (std::size_t entry = 0; entry < vector.num_entries(); ++entry) {
    ++counts[static_cast<std::size_t>(owner(vector.index_at(entry)))];
  }
  std::vector<SparseVector> parts;
  for (int owner = 0; owner < num_owners_; ++owner) {
    parts.emplace_back(Domain{num_local(owner), vector.domain().width}, vector.type());
    parts.back().resize(counts[static_cast<std::size_t>(owner)]);
  }
  std::vector<std::size_t> next(parts.size());
  visit_types(vector, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    const auto indices = vector.indices<I>();
    const auto values = vector.values<T>();
    const std::size_t width = vector.domain().width;
    for (std::size_t entry = 0; entry < indices.size(); ++entry) {
      const auto to = static_cast<std::size_t>(owner(indices[entry]));
      SparseVector& part = parts[to];
      const std::size_t at = next[to]++;
      const std::uint64_t place = local(indices[entry]);
      if (part.wide()) {
        part.indices<std::uint64_t>()[at] = place;
      } else {
        part.indices<std::uint32_t>()[at] = static_cast<std::uint32_t>(place);
      }
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(entry * width), width,
                  part.values<T>().begin() + static_cast<std::ptrdiff_t>(at * width));
    }
  });
  return parts;
}

SparseVector Partition::join(std::vector<SparseVector> parts, Domain domain) const {
  TANDEM_CHECK_OP(parts.size(), ==, static_cast<std::size_t>(num_owners_));
  std::vector<SparseVector> global;
  for (int owner = 0; owner < num_owners_; ++owner) {
    const SparseVector& part = parts[static_cast<std::size_t>(owner)];
    SparseVector moved(domain, part.type());
    moved.resize(part.num_entries());
    visit_types(moved, [&](auto index, auto value) {
      using I = decltype(index);
      using T = decltype(value);
      for (std::size_t entry = 0; entry < part.num_entries(); ++entry) {
        moved.indices<I>()[entry] = static_cast<I>(unit(owner, part.index_at(entry)));
      }
      std::copy_n(part.values<T>().begin(), part.values<T>().size(), moved.values<T>().begin());
    });
    global.push_back(std::move(moved));
  }
  return merge(global, Reduction::kSum);
}

}  // namespace tandem::collectives
