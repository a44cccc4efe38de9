// SPDX-License-Identifier: Apache-2.0
//
// Properties of an adaptive partition under random changes and rounds: every entry in exactly one
// block, the same blocks as when built anew, and the products of naive loops.
#include "tensor/sparse/adaptive/adaptive_partition.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "../random_tensor.h"
#include "common/error.h"

namespace tandem::sparse {
namespace {

using test::Index;
using Entries = std::map<Index, double>;

// Entries crowd in the lowest corner.
CooTensor crowded(const Index& sizes, std::size_t count, unsigned seed) {
  std::mt19937_64 engine(seed);
  CooTensor tensor(sizes);
  for (std::size_t i = 0; i < count; ++i) {
    Index index;
    for (const std::uint64_t size : sizes) {
      index.push_back(engine() % (i % 5 == 0 ? size : std::max<std::uint64_t>(1, size / 8)));
    }
    tensor.append(index, static_cast<double>(engine() % 1999) / 7 - 100);
  }
  return tensor;
}

Entries entries_of_blocks(const AdaptivePartition& partition) {
  const std::size_t order = partition.sizes().size();
  Entries entries;
  for (const CurveBlock& block : partition.blocks()) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      Index index;
      for (std::size_t mode = 0; mode < order; ++mode) {
        index.push_back(block.bases[mode] + block.distances[i * order + mode]);
      }
      EXPECT_TRUE(entries.emplace(index, block.values[i]).second) << "twice";
    }
  }
  return entries;
}

Entries as_floats(Entries entries) {
  for (auto& [index, value] : entries) value = static_cast<double>(static_cast<float>(value));
  return entries;
}

// Blocks cover all keys without gaps, and hold the entries whose keys are theirs, in order.
void expect_blocks_divide_the_curve(const AdaptivePartition& partition) {
  const Index sizes(partition.sizes().begin(), partition.sizes().end());
  const Curve curve(CurveKind::kHilbert, sizes);
  std::uint64_t next = 0;
  for (const CurveBlock& block : partition.blocks()) {
    ASSERT_EQ(block.first, next);
    ASSERT_LE(block.first, block.last);
    next = block.last + 1;
    ASSERT_TRUE(std::ranges::is_sorted(block.keys, std::less_equal<>()));
    for (std::size_t i = 0; i < block.size(); ++i) {
      Index index;
      for (std::size_t mode = 0; mode < sizes.size(); ++mode) {
        index.push_back(block.bases[mode] + block.distances[i * sizes.size() + mode]);
        ASSERT_LT(index.back(), block.ends[mode]);
      }
      ASSERT_EQ(curve.key_of(index), block.keys[i]);
      ASSERT_TRUE(block.keys[i] >= block.first && block.keys[i] <= block.last);
    }
  }
  EXPECT_EQ(next, curve.bits() == 64 ? 0 : std::uint64_t{1} << curve.bits());
}

std::vector<FactorMatrix<float>> factors_of(const Index& sizes, std::size_t rank) {
  std::mt19937_64 engine(3);
  std::vector<FactorMatrix<float>> factors;
  for (const std::uint64_t size : sizes) {
    FactorMatrix<float>& factor = factors.emplace_back(size, rank);
    for (std::uint64_t row = 0; row < size; ++row) {
      for (std::size_t r = 0; r < rank; ++r) {
        factor.row(row)[r] = static_cast<float>(engine() % 2001) / 1000 - 1;
      }
    }
  }
  return factors;
}

void expect_naive_products(AdaptivePartition& partition, ThreadPool& pool) {
  const Index sizes(partition.sizes().begin(), partition.sizes().end());
  constexpr std::size_t kRank = 5;
  const auto factors = factors_of(sizes, kRank);
  const Entries entries = entries_of_blocks(partition);
  for (std::size_t mode = 0; mode < sizes.size(); ++mode) {
    FactorMatrix<float> out(sizes[mode], kRank);
    std::fill(out.values.begin(), out.values.end(), 7.0f);  // overwritten
    partition.mttkrp(factors, mode, out, pool);
    std::vector<double> sums(sizes[mode] * kRank), sizes_of(sums.size());
    for (const auto& [index, value] : entries) {
      for (std::size_t r = 0; r < kRank; ++r) {
        double product = value;
        for (std::size_t m = 0; m < sizes.size(); ++m) {
          if (m != mode) product *= static_cast<double>(factors[m].row(index[m])[r]);
        }
        sums[index[mode] * kRank + r] += product;
        sizes_of[index[mode] * kRank + r] += std::abs(product);
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      ASSERT_NEAR(out.row(i / kRank)[i % kRank], sums[i], 2e-6 * sizes_of[i] + 1e-30);
    }
  }
}

AdaptiveOptions small_blocks() {
  AdaptiveOptions options;
  options.grid_bits = 4;
  options.plan.least_entries = 16;
  options.seconds_per_entry = 1e-6;
  return options;
}

// Entries of value 1 at these keys of the curve.
CooTensor at_keys(const Index& sizes, const std::vector<std::uint64_t>& keys) {
  const Curve curve(CurveKind::kHilbert, sizes);
  CooTensor tensor(sizes);
  for (const std::uint64_t key : keys) {
    Index index(sizes.size());
    curve.index_of(key, index);
    tensor.append(index, 1);
  }
  return tensor;
}

// A second for each entry, and no fusions.
AdaptiveOptions counted_seconds(int grid_bits, std::size_t least_entries) {
  AdaptiveOptions options;
  options.grid_bits = grid_bits;
  options.plan.cold = -2;
  options.plan.least_entries = least_entries;
  options.seconds_per_entry = 1;
  return options;
}

// The number of entries of each block after a kernel and a round.
std::vector<std::size_t> sizes_after_a_round(const CooTensor& tensor,
                                             const AdaptiveOptions& options) {
  ThreadPool pool(2);
  AdaptivePartition partition(tensor, options, pool);
  FactorMatrix<float> out(tensor.sizes[0], 1);
  partition.mttkrp(factors_of(tensor.sizes, 1), 0, out, pool);
  EXPECT_TRUE(partition.adapt(1000000000, 1, pool));
  std::vector<std::size_t> sizes;
  for (const CurveBlock& block : partition.blocks()) sizes.push_back(block.size());
  return sizes;
}

// Changes of a random set of coordinates; `entries` follows.
void change_some(AdaptivePartition& partition, Entries& entries, std::mt19937_64& engine,
                 ThreadPool& pool) {
  const Index sizes(partition.sizes().begin(), partition.sizes().end());
  CooTensor set(sizes), removed(sizes);
  std::map<Index, bool> chosen;
  for (int i = 0; i < 200; ++i) {
    Index index;
    for (const std::uint64_t size : sizes)
      index.push_back(engine() % std::min<std::uint64_t>(size, 9));
    chosen[index] = engine() % 2 == 0;
  }
  for (const auto& [index, goes] : chosen) {
    const double value = static_cast<double>(engine() % 100);
    if (goes) {
      removed.append(index, 0);
      entries.erase(index);
    } else {
      set.append(index, value);
      entries[index] = value;
    }
  }
  partition.change(set, removed, pool);
}

TEST(AdaptivePartition, BeginsAsAGridThatHoldsEveryEntryOnce) {
  ThreadPool pool(3);
  for (const Index& sizes : {Index{64, 64, 64}, Index{100, 7, 33}, Index{1000},
                             Index{5, 5, 5, 5, 5}, Index{1, 1}, Index{200000, 3}}) {
    SCOPED_TRACE(testing::PrintToString(sizes));
    const CooTensor tensor = crowded(sizes, 3000, 1);
    AdaptivePartition partition(tensor, small_blocks(), pool);
    EXPECT_EQ(entries_of_blocks(partition), as_floats(test::entries_of(tensor)));
    expect_blocks_divide_the_curve(partition);
    expect_naive_products(partition, pool);
  }
}

TEST(AdaptivePartition, BlocksOfTheGridAreEqualPartsOfTheCurve) {
  ThreadPool pool(1);
  const AdaptivePartition partition(crowded({64, 64}, 500, 1), small_blocks(), pool);
  ASSERT_EQ(partition.blocks().size(), 16u);
  for (const CurveBlock& block : partition.blocks()) EXPECT_EQ(block.last - block.first, 255u);
}

TEST(AdaptivePartition, RoundsSplitTheCrowdAndKeepEveryEntry) {
  std::mt19937_64 engine(13);
  ThreadPool pool(2);
  const CooTensor tensor = crowded({128, 128, 128}, 20000, 2);
  AdaptivePartition partition(tensor, small_blocks(), pool);
  Entries entries = as_floats(test::entries_of(tensor));
  const auto largest = [&] {
    std::size_t most = 0;
    for (const CurveBlock& block : partition.blocks()) most = std::max(most, block.size());
    return most;
  };
  const std::size_t before = largest();
  std::size_t rounds = 0;
  const auto factors = factors_of({128, 128, 128}, 4);
  FactorMatrix<float> out(128, 4);
  for (int i = 0; i < 12; ++i) {
    change_some(partition, entries, engine, pool);  // in the crowd: smaller blocks cost less
    partition.mttkrp(factors, 0, out, pool);
    rounds += partition.adapt(1000000000, 1, pool) ? 1 : 0;
    expect_blocks_divide_the_curve(partition);
    ASSERT_EQ(entries_of_blocks(partition), entries);
  }
  EXPECT_GE(rounds, 1u);
  EXPECT_EQ(partition.stats().rounds, rounds);
  EXPECT_GE(partition.stats().splits, 1u);
  EXPECT_LT(largest(), before);
}

TEST(AdaptivePartition, MakesNoRoundThatTheRemainingIterationsDoNotRepay) {
  ThreadPool pool(2);
  AdaptivePartition partition(crowded({128, 128, 128}, 20000, 2), small_blocks(), pool);
  expect_naive_products(partition, pool);
  const std::size_t blocks = partition.blocks().size();
  EXPECT_FALSE(partition.adapt(0, 3, pool));
  EXPECT_EQ(partition.stats().refusals, 1u);
  EXPECT_EQ(partition.stats().rebuilt_entries, 0u);
  EXPECT_EQ(partition.blocks().size(), blocks);
}

TEST(AdaptivePartition, MakesNoRoundBeyondTheBudgetOfRounds) {
  std::mt19937_64 engine(13);
  ThreadPool pool(2);
  AdaptiveOptions options = small_blocks();
  options.round_budget = 0;
  AdaptivePartition partition(crowded({128, 128, 128}, 20000, 2), options, pool);
  Entries entries = entries_of_blocks(partition);
  const auto factors = factors_of({128, 128, 128}, 4);
  FactorMatrix<float> out(128, 4);
  change_some(partition, entries, engine, pool);
  partition.mttkrp(factors, 0, out, pool);
  EXPECT_FALSE(partition.adapt(1000000000, 1, pool));
  EXPECT_EQ(partition.stats().refusals, 1u);
}

TEST(AdaptivePartition, ChangesGiveTheBlocksThatBuildingAnewGives) {
  std::mt19937_64 engine(9);
  ThreadPool pool(3);
  for (const Index& sizes : {Index{64, 64, 64}, Index{100, 7, 33}, Index{90000, 40}}) {
    const CooTensor tensor = crowded(sizes, 3000, 4);
    AdaptivePartition partition(tensor, small_blocks(), pool);
    Entries entries = as_floats(test::entries_of(tensor));
    for (int round = 0; round < 8; ++round) change_some(partition, entries, engine, pool);
    ASSERT_EQ(entries_of_blocks(partition), entries);
    CooTensor now(sizes);
    for (const auto& [index, value] : entries) now.append(index, value);
    const AdaptivePartition fresh(now, small_blocks(), pool);
    // A block that once reached too far for 16 bits stays divided; all others are the same.
    if (sizes[0] > 65536) continue;
    ASSERT_EQ(fresh.blocks().size(), partition.blocks().size());
    for (std::size_t b = 0; b < fresh.blocks().size(); ++b) {
      EXPECT_EQ(fresh.blocks()[b].keys, partition.blocks()[b].keys);
      EXPECT_EQ(fresh.blocks()[b].distances, partition.blocks()[b].distances);
      EXPECT_EQ(fresh.blocks()[b].bases, partition.blocks()[b].bases);
      EXPECT_EQ(fresh.blocks()[b].values, partition.blocks()[b].values);
    }
  }
}

TEST(AdaptivePartition, RebuildsOnlyTheBlocksThatChange) {
  ThreadPool pool(2);
  const Index sizes = {64, 64};
  AdaptivePartition partition(crowded(sizes, 900, 4), small_blocks(), pool);
  std::vector<const std::uint64_t*> memory;
  for (const CurveBlock& block : partition.blocks()) memory.push_back(block.keys.data());
  const std::size_t in_first = partition.blocks()[0].size();
  CooTensor set(sizes);
  const Curve curve(CurveKind::kHilbert, sizes);
  Index first(2);
  curve.index_of(0, first);
  set.append(first, 3);
  partition.change(set, CooTensor(sizes), pool);
  EXPECT_EQ(partition.stats().rebuilt_entries, in_first + 1);
  for (std::size_t b = 1; b < memory.size(); ++b) {
    EXPECT_EQ(partition.blocks()[b].keys.data(), memory[b]) << b;
  }
}

TEST(AdaptivePartition, TheTimeOfChangesHalvesWithEveryChange) {
  ThreadPool pool(2);
  const Index sizes = {4, 4};  // two blocks: the keys 0 .. 7 and 8 .. 15
  AdaptivePartition partition(at_keys(sizes, {0, 1, 2, 3, 9}), counted_seconds(1, 1024), pool);
  ASSERT_EQ(partition.blocks().size(), 2u);
  const auto change = [&](std::uint64_t key) {
    partition.change(at_keys(sizes, {key}), CooTensor(sizes), pool);
    return std::pair(partition.blocks()[0].change_seconds, partition.blocks()[1].change_seconds);
  };
  // Half of the old time, and half a second for each entry of the block that is rebuilt.
  EXPECT_EQ(change(0), std::pair(2.0, 0.0));
  EXPECT_EQ(change(9), std::pair(1.0, 0.5));
  EXPECT_EQ(change(9), std::pair(0.5, 0.75));
  EXPECT_EQ(change(3), std::pair(2.25, 0.375));
}

TEST(AdaptivePartition, HalvesABlockOfTwiceTheLeastEntries) {
  const CooTensor tensor = at_keys({4, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 9});
  EXPECT_THAT(sizes_after_a_round(tensor, counted_seconds(1, 4)), testing::ElementsAre(4, 4, 1));
}

TEST(AdaptivePartition, AHalfWithTheShareOfTheMidpointStaysWhole) {
  // 16 blocks of 64 keys. The first has 16 entries, 8 in each half; the last blocks have none. The
  // midpoint is half of the first block's share. Two halvings are allowed.
  std::vector<std::uint64_t> keys = {64, 128, 192, 256};
  for (std::uint64_t i = 0; i < 8; ++i) keys.insert(keys.end(), {i, 32 + i});
  std::vector<std::size_t> expected(17, 0);
  expected[0] = expected[1] = 8;
  for (std::size_t b = 2; b < 6; ++b) expected[b] = 1;
  EXPECT_EQ(sizes_after_a_round(at_keys({32, 32}, keys), counted_seconds(4, 2)), expected);
}

TEST(AdaptivePartition, KeepsItsPropertiesUnderChangesAndRounds) {
  std::mt19937_64 engine(11);
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const Index sizes = {40, 50, 60};
    const CooTensor tensor = crowded(sizes, 8000, 5);
    AdaptivePartition partition(tensor, small_blocks(), pool);
    Entries entries = as_floats(test::entries_of(tensor));
    for (int i = 0; i < 10; ++i) {
      change_some(partition, entries, engine, pool);
      expect_naive_products(partition, pool);
      partition.adapt(1000000000, 3, pool);
      expect_blocks_divide_the_curve(partition);
      ASSERT_EQ(entries_of_blocks(partition), entries);
      EXPECT_EQ(partition.num_entries(), entries.size());
    }
  }
}

TEST(AdaptivePartition, EndsOfNeighbouringBlocksAreNeighboursInSpace) {
  ThreadPool pool(2);
  const Index sizes = {64, 64, 64};
  AdaptivePartition partition(crowded(sizes, 9000, 5), small_blocks(), pool);
  for (int i = 0; i < 4; ++i) {
    expect_naive_products(partition, pool);
    partition.adapt(1000000000, 3, pool);
  }
  const Curve curve(CurveKind::kHilbert, sizes);
  for (std::size_t b = 0; b + 1 < partition.blocks().size(); ++b) {
    Index end(3), begin(3);
    curve.index_of(partition.blocks()[b].last, end);
    curve.index_of(partition.blocks()[b + 1].first, begin);
    std::uint64_t distance = 0;
    for (std::size_t mode = 0; mode < 3; ++mode) {
      distance += std::max(end[mode], begin[mode]) - std::min(end[mode], begin[mode]);
    }
    EXPECT_EQ(distance, 1u) << b;
  }
}

TEST(AdaptivePartition, HoldsNoEntriesAndTheLargestTensor) {
  ThreadPool pool(2);
  const Index sizes = {std::uint64_t{1} << 32, std::uint64_t{1} << 32};
  AdaptivePartition partition(CooTensor(sizes), small_blocks(), pool);
  EXPECT_EQ(partition.num_entries(), 0u);
  EXPECT_FALSE(partition.adapt(100, 1, pool));
  CooTensor set(sizes);
  set.append(Index{sizes[0] - 1, sizes[1] - 1}, 1);
  set.append(Index{0, 0}, 2);
  partition.change(set, CooTensor(sizes), pool);
  EXPECT_EQ(partition.num_entries(), 2u);
  EXPECT_THROW(AdaptivePartition(CooTensor({sizes[0], sizes[1], 2}), small_blocks(), pool), Error);
}

}  // namespace
}  // namespace tandem::sparse
