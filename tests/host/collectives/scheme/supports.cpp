// SPDX-License-Identifier: Apache-2.0
//
// Supports are made by sets of units; nothing here shares code with the schemes.
#include "host/collectives/scheme/supports.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "tensor/sparse/merge.h"
#include "tensor/sparse/partition.h"

namespace tandem::test {

using namespace tandem::collectives;

namespace {

using Units = std::vector<std::uint64_t>;

Units random_units(std::uint64_t num_units, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::set<std::uint64_t> units;
  const std::size_t reachable = std::min<std::uint64_t>(count, num_units);
  while (units.size() < reachable) units.insert(random() % num_units);
  return {units.begin(), units.end()};
}

// Runs of consecutive units in the first tenth of the domain.
Units clustered_units(std::uint64_t num_units, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::set<std::uint64_t> units;
  for (int run = 0; run < 5; ++run) {
    const std::uint64_t begin = random() % (num_units / 10 + 1);
    for (std::uint64_t at = begin; at < std::min(num_units, begin + 30); ++at) units.insert(at);
  }
  return {units.begin(), units.end()};
}

Units one_owner_units(std::uint64_t num_units, int world, std::uint64_t hash_seed,
                      std::uint64_t seed) {
  const Partition owners = Partition::hashed(num_units, world, hash_seed);
  Units units = random_units(num_units, 400, seed);
  std::erase_if(units, [&](std::uint64_t unit) { return owners.owner(unit) != 0; });
  return units;
}

Units units_of_rank(Support support, std::uint64_t num_units, int rank, int world,
                    std::uint64_t hash_seed) {
  const auto seed = static_cast<std::uint64_t>(rank) + 1;
  switch (support) {
    case Support::kRandom:
      return random_units(num_units, 20 * seed, seed);
    case Support::kOneRankOnly:
      return rank == world / 2 ? random_units(num_units, 150, seed) : Units{};
    case Support::kEqual:
      return random_units(num_units, 150, 1);
    case Support::kDisjoint: {
      Units units = random_units(num_units, 300, 1);
      std::erase_if(units, [&](std::uint64_t unit) {
        return unit % static_cast<std::uint64_t>(world) != static_cast<std::uint64_t>(rank);
      });
      return units;
    }
    case Support::kClustered:
      return clustered_units(num_units, seed);
    case Support::kOneOwner:
      return one_owner_units(num_units, world, hash_seed, seed);
    case Support::kEmpty:
      return {};
  }
  return {};
}

}  // namespace

std::string support_name(Support support) {
  constexpr const char* kNames[] = {"random",    "one rank only", "equal", "disjoint",
                                    "clustered", "one owner",     "empty"};
  return kNames[static_cast<int>(support)];
}

std::vector<Units> make_supports(Support support, std::uint64_t num_units, int world,
                                 std::uint64_t hash_seed) {
  std::vector<Units> supports;
  for (int rank = 0; rank < world; ++rank) {
    supports.push_back(units_of_rank(support, num_units, rank, world, hash_seed));
  }
  return supports;
}

SparseVector make_vector(Domain domain, DType type, const Units& units, std::uint64_t seed) {
  SparseVector vector(domain, type);
  vector.resize(units.size());
  std::mt19937_64 random(seed);
  visit_types(vector, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    for (std::size_t entry = 0; entry < units.size(); ++entry) {
      vector.indices<I>()[entry] = static_cast<I>(units[entry]);
    }
    for (T& to : vector.values<T>()) {
      const int magnitude = static_cast<int>(random() % 4) + 1;
      const bool negative = std::is_floating_point_v<T> && random() % 2 == 0;
      to = static_cast<T>(negative ? -magnitude : magnitude);
    }
  });
  return vector;
}

NaiveRows reduce_naively(const std::vector<SparseVector>& by_rank, Reduction reduction) {
  NaiveRows rows;
  for (const SparseVector& vector : by_rank) {
    const std::size_t width = vector.domain().width;
    visit_type(vector.type(), [&](auto zero) {
      const auto values = vector.values<decltype(zero)>();
      for (std::size_t entry = 0; entry < vector.num_entries(); ++entry) {
        const auto [row, is_new] =
            rows.try_emplace(vector.index_at(entry), std::vector<double>(width));
        for (std::size_t i = 0; i < width; ++i) {
          const auto value = static_cast<double>(values[entry * width + i]);
          double& sum = row->second[i];
          sum = is_new ? value : reduction == Reduction::kMax ? std::max(sum, value) : sum + value;
        }
      }
    });
  }
  if (reduction == Reduction::kMean) {
    for (auto& [unit, row] : rows) {
      for (double& value : row) value /= static_cast<double>(by_rank.size());
    }
  }
  return rows;
}

SparseVector present_entries(const Reduced& reduced, Reduction reduction) {
  const auto* sparse = std::get_if<SparseVector>(&reduced);
  return sparse ? *sparse : compact(std::get<DenseVector>(reduced), reduction);
}

std::string difference(const SparseVector& sum, const NaiveRows& expected, double tolerance) {
  const std::size_t width = sum.domain().width;
  NaiveRows left = expected;
  std::string wrong;
  std::uint64_t before = 0;
  visit_type(sum.type(), [&](auto zero) {
    const auto values = sum.values<decltype(zero)>();
    for (std::size_t entry = 0; entry < sum.num_entries() && wrong.empty(); ++entry) {
      const std::uint64_t unit = sum.index_at(entry);
      if (entry > 0 && unit <= before) wrong = "indices are not ascending";
      before = unit;
      const auto row = left.find(unit);
      for (std::size_t i = 0; i < width && wrong.empty(); ++i) {
        const auto value = static_cast<double>(values[entry * width + i]);
        const double wanted = row == left.end() ? 0 : row->second[i];
        if (!(std::abs(value - wanted) <= tolerance * (1 + std::abs(wanted)))) {
          wrong = "unit " + std::to_string(unit) + " is " + std::to_string(value) + ", not " +
                  std::to_string(wanted);
        }
      }
      if (row != left.end()) left.erase(row);
    }
  });
  for (const auto& [unit, row] : left) {
    if (std::ranges::any_of(row, [&](double value) { return std::abs(value) > tolerance; })) {
      return wrong.empty() ? "unit " + std::to_string(unit) + " is missing" : wrong;
    }
  }
  return wrong;
}

std::vector<std::byte> bits_of(const Reduced& reduced) {
  std::vector<std::byte> bits;
  const auto append = [&](auto values) {
    const auto bytes = std::as_bytes(values);
    bits.insert(bits.end(), bytes.begin(), bytes.end());
  };
  if (const auto* sparse = std::get_if<SparseVector>(&reduced)) {
    visit_types(*sparse, [&](auto index, auto) { append(sparse->indices<decltype(index)>()); });
    append(sparse->value_bytes());
  } else {
    const auto& dense = std::get<DenseVector>(reduced);
    visit_type(dense.type(), [&](auto zero) { append(dense.values<decltype(zero)>()); });
  }
  return bits;
}

}  // namespace tandem::test
