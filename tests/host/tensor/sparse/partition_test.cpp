// SPDX-License-Identifier: Apache-2.0
//
// Partitions: the mapping is invertible, ordered and even; split and join agree with it; hashed
// owners balance for supports that do not know the seed.
#include "tensor/sparse/partition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "host/tensor/sparse/patterns.h"
#include "tensor/sparse/hashed_places.h"

namespace tandem::sparse {
namespace {

std::vector<Partition> partitions_of(std::uint64_t num_units, int num_owners) {
  std::vector<std::uint64_t> bounds = {0};
  std::mt19937_64 random(num_units);
  for (int owner = 1; owner < num_owners; ++owner) bounds.push_back(random() % (num_units + 1));
  bounds.push_back(num_units);
  std::ranges::sort(bounds);
  return {Partition::even(num_units, num_owners), Partition::bounded(bounds),
          Partition::hashed(num_units, num_owners, 0x7a9d)};
}

TEST(Partition, MapsEveryUnitToOneOwnerAndBackInOrder) {
  for (const int num_owners : {1, 2, 3, 7, 16, 128}) {
    for (const std::uint64_t num_units : {1, 2, 63, 64, 1000, 10'007}) {
      for (const Partition& partition : partitions_of(num_units, num_owners)) {
        std::vector<std::uint64_t> next(static_cast<std::size_t>(num_owners));
        for (std::uint64_t unit = 0; unit < num_units; ++unit) {
          const int owner = partition.owner(unit);
          const std::uint64_t local = partition.local(unit);
          ASSERT_TRUE(owner >= 0 && owner < num_owners);
          ASSERT_EQ(partition.unit(owner, local), unit);
          ASSERT_LT(local, partition.num_local(owner));
          auto& least = next[static_cast<std::size_t>(owner)];
          ASSERT_GE(local, least);
          least = local + 1;
        }
        if (partition.kind() != Partition::Kind::kHashed) continue;
        // Every owner has a unit of every whole group.
        for (const std::uint64_t end : next) {
          EXPECT_GE(end, num_units / static_cast<std::uint64_t>(num_owners));
        }
      }
    }
  }
}

TEST(Partition, OwnersBehindTheLastUnitHaveNone) {
  const Partition partition = Partition::even(5, 4);
  std::vector<std::uint64_t> counts;
  for (int owner = 0; owner < 4; ++owner) counts.push_back(partition.num_local(owner));
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{2, 2, 1, 0}));
}

TEST(Partition, SplitsByItsMappingAndJoinsBack) {
  for (const int num_owners : {1, 2, 3, 7, 16, 128}) {
    for (const Domain domain : {Domain{1, 1}, Domain{1000, 3}, Domain{70'001, 1}, Domain{64, 1},
                                Domain{std::uint64_t{1} << 32, 1}, Domain{test::kWideUnits, 1},
                                Domain{test::kWideUnits, 2}, Domain{200'000, 1}}) {
      for (const test::Pattern pattern :
           {test::Pattern::kUniform, test::Pattern::kRun, test::Pattern::kEnds}) {
        for (const DType type : {DType::kF32, DType::kF64, DType::kU64}) {
          const SparseVector vector = test::vector_of(
              domain, type, test::pattern_units(pattern, domain.num_units, 5000, 3));
          for (const Partition& partition : partitions_of(domain.num_units, num_owners)) {
            std::vector<SparseVector> parts = partition.split(vector);
            ASSERT_EQ(parts.size(), static_cast<std::size_t>(num_owners));
            std::size_t total = 0;
            for (int owner = 0; owner < num_owners; ++owner) {
              const SparseVector& part = parts[static_cast<std::size_t>(owner)];
              ASSERT_EQ(part.domain().num_units, partition.num_local(owner));
              total += part.num_entries();
              for (std::size_t at = 0; at < part.num_entries(); ++at) {
                ASSERT_EQ(partition.owner(partition.unit(owner, part.index_at(at))), owner);
                ASSERT_TRUE(at == 0 || part.index_at(at - 1) < part.index_at(at));
              }
            }
            ASSERT_EQ(total, vector.num_entries());
            ASSERT_TRUE(test::same(vector, partition.join(std::move(parts), domain)))
                << num_owners << " owners of " << domain.num_units;
          }
        }
      }
    }
  }
}

TEST(HashedPlaces, AreThePartitionsMapping) {
  std::mt19937_64 random(5);
  for (const std::uint32_t num_owners : {1u, 2u, 3u, 16u, 127u, 128u, 65'537u}) {
    const std::uint64_t seed = random();
    const Partition partition =
        Partition::hashed(std::uint64_t{1} << 32, static_cast<int>(num_owners), seed);
    std::vector<std::uint32_t> units = {0, 1, 0xffffffffu, 0xfffffffeu, 0x80000000u};
    while (units.size() < 5003) units.push_back(static_cast<std::uint32_t>(random()));
    std::vector<std::uint32_t> owners(units.size()), locals(units.size()), back(1);
    places_of({num_owners, seed}, units.data(), units.size(), owners.data(), locals.data());
    for (std::size_t i = 0; i < units.size(); ++i) {
      ASSERT_EQ(owners[i], static_cast<std::uint32_t>(partition.owner(units[i])));
      ASSERT_EQ(locals[i], partition.local(units[i]));
      units_of({num_owners, seed}, owners[i], &locals[i], 1, back.data());
      ASSERT_EQ(back[0], units[i]);
    }
  }
}

// Busiest owner over the mean.
double imbalance(const Partition& partition, const std::vector<std::uint64_t>& units) {
  std::vector<double> counts(static_cast<std::size_t>(partition.num_owners()));
  for (const std::uint64_t unit : units) {
    ++counts[static_cast<std::size_t>(partition.owner(unit))];
  }
  return std::ranges::max(counts) * partition.num_owners() / static_cast<double>(units.size());
}

TEST(Partition, HashedOwnersBalanceForAdversarialSupports) {
  constexpr std::size_t kCount = 200'000;
  for (const std::uint64_t num_units : {std::uint64_t{4'000'000}, std::uint64_t{1} << 36}) {
    for (const int n : {2, 3, 4, 7, 8, 16, 33, 64, 100, 128}) {
      std::mt19937_64 random(static_cast<std::uint64_t>(n));
      std::vector<std::pair<std::string, std::vector<std::uint64_t>>> supports(2);
      supports[0].first = "uniform";
      supports[1].first = "clustered";
      for (std::size_t i = 0; i < kCount; ++i) {
        supports[0].second.push_back(random() % num_units);
        const std::uint64_t range = random() % 100 < 60 ? num_units / 8 : num_units;
        supports[1].second.push_back(random() % range);
      }
      for (const std::uint64_t stride :
           {static_cast<std::uint64_t>(n), std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{16},
            std::uint64_t{64}, std::uint64_t{1024}}) {
        auto& [name, units] =
            supports.emplace_back("stride " + std::to_string(stride), std::vector<std::uint64_t>());
        for (std::uint64_t at = 5; at < num_units && units.size() < kCount; at += stride) {
          units.push_back(at);
        }
      }
      const Partition partition = Partition::hashed(num_units, n, 0x7a9d);
      for (const auto& [name, units] : supports) {
        const double bound =
            1 + 3 * std::sqrt(n * std::log(n + 1.0) / static_cast<double>(units.size()));
        EXPECT_LE(imbalance(partition, units), bound) << name << ", " << n << " owners";
      }
    }
  }
}

}  // namespace
}  // namespace tandem::sparse
