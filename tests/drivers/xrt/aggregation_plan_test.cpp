// SPDX-License-Identifier: Apache-2.0
//
// The division of an aggregation over compute units: every entry once, in order, in balance. The
// kernel's part is tested with the card (aggregation_unit_test.cpp).
#include "xrt/aggregation/aggregation_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "common/error.h"

namespace tandem::device::xrt_card {
namespace {

struct Vectors {
  std::vector<std::vector<std::uint32_t>> positions;
  std::vector<std::vector<std::byte>> values;
  AggregationShape shape;
  std::vector<AggregationSource> sources;

  Vectors(std::uint64_t num_positions, std::vector<std::vector<std::uint32_t>> given)
      : positions(std::move(given)) {
    shape.num_positions = num_positions;
    shape.num_sources = positions.size();
    for (const auto& source : positions) {
      values.emplace_back(source.size() * 4);
      shape.num_entries += source.size();
    }
    for (std::size_t s = 0; s < positions.size(); ++s) sources.push_back({positions[s], values[s]});
  }
};

std::vector<std::uint32_t> every(std::uint32_t step, std::uint32_t end) {
  std::vector<std::uint32_t> positions;
  for (std::uint32_t position = 0; position < end; position += step) positions.push_back(position);
  return positions;
}

AggregationPlan plan(const Vectors& vectors, std::size_t num_units, double transfer_s = 0) {
  CardTiming timing;
  timing.transfer_s = transfer_s;
  return plan_aggregation(vectors.shape, vectors.sources, num_units, timing);
}

TEST(AggregationPlan, GivesEveryEntryToOneUnitInOrder) {
  const Vectors vectors(1'000'000, {every(3, 1'000'000), {}, every(1000, 400'000), {999'999}});
  const AggregationPlan made = plan(vectors, 8);
  ASSERT_EQ(made.units.size(), 8u);
  std::vector<std::size_t> next(4, 0);
  std::uint64_t entries = 0;
  for (const AggregationUnitPlan& unit : made.units) {
    entries += unit.num_entries;
    std::uint32_t tile = 0;
    for (const TileSlice& slice : unit.slices) {
      EXPECT_EQ(slice.begin, next[slice.source]);
      EXPECT_LT(slice.begin, slice.end);
      EXPECT_GE(slice.tile, tile);
      tile = slice.tile;
      next[slice.source] = slice.end;
    }
  }
  EXPECT_EQ(entries, vectors.shape.num_entries);
  for (std::size_t s = 0; s < 4; ++s) EXPECT_EQ(next[s], vectors.positions[s].size());
}

TEST(AggregationPlan, BalancesUnitsWhereEntriesCluster) {
  auto crowd = every(1, 4'000'000);
  for (const std::uint32_t position : every(2000, 40'000'000)) {
    if (position >= 4'000'000) crowd.push_back(position);
  }
  const AggregationPlan made = plan(Vectors(40'000'000, {crowd, crowd}), 8);
  ASSERT_EQ(made.units.size(), 8u);
  std::size_t most = 0, all = 0;
  for (const auto& unit : made.units) {
    most = std::max(most, unit.num_entries);
    all += unit.num_entries;
  }
  EXPECT_LT(most, all / 8 * 2);  // tiles are indivisible: 16 of them hold nearly everything
}

TEST(AggregationPlan, UsesAsManyUnitsAsPayForTheirTransfers) {
  const Vectors few(1'000'000, {every(10'000, 1'000'000)}), many(1'000'000, {every(1, 1'000'000)});
  EXPECT_EQ(plan(few, 8, 1e-3).units.size(), 1u);
  EXPECT_EQ(plan(many, 8, 1e-6).units.size(), 8u);
  EXPECT_TRUE(plan(Vectors(100, {{}, {}}), 8).units.empty());
  EXPECT_EQ(plan(Vectors(100, {{7}}), 8).units.size(), 1u);
}

// A million entries take 1.1 ms: 8 bytes each, in and out, at 48 bytes in a cycle of 300 MHz. With
// two units the half of it is saved, and two transfers more are made.
TEST(AggregationPlan, CountsTwoTransfersForEachUnit) {
  const Vectors many(1'000'000, {every(1, 1'000'000)});
  EXPECT_EQ(plan(many, 2, 200e-6).units.size(), 2u);
  EXPECT_EQ(plan(many, 2, 400e-6).units.size(), 1u);
}

TEST(AggregationPlan, HasTilesThatAreNoLargerThanAUnitsShare) {
  const auto tile_bits = [](std::uint64_t num_positions, std::size_t num_units) {
    return plan(Vectors(num_positions, {{0, 1}}), num_units).units[0].header.tile_bits;
  };
  EXPECT_EQ(tile_bits(1 << 12, 1), 12u);
  EXPECT_EQ(tile_bits((1 << 12) + 1, 1), 13u);
  EXPECT_EQ(tile_bits(1 << 15, 8), 12u);
}

TEST(AggregationPlan, RefusesABitmapThatHasFewerBitsThanItCounts) {
  const std::uint32_t n = 1 << 20;
  const AggregationPlan made = plan(Vectors(n, {every(10, n)}), 1);
  ASSERT_EQ(made.units[0].header.format, sparse_aggregation::kBitmap);
  std::vector<std::byte> result(made.units[0].result_bytes);
  sparse_aggregation::ResultHeader header{};
  header.num_entries = 3;
  std::memcpy(result.data(), &header, sizeof(header));
  RawVector<std::uint32_t> positions;
  RawVector<std::byte> values;
  EXPECT_THROW(append_result(made.units[0], result.data(), positions, values), DeviceError);
}

TEST(AggregationPlan, ChoosesTheShorterResult) {
  const std::uint32_t n = 1 << 20;
  EXPECT_EQ(plan(Vectors(n, {every(10, n)}), 8).units[0].header.format,
            sparse_aggregation::kBitmap);
  EXPECT_EQ(plan(Vectors(n, {every(100, n)}), 8).units[0].header.format, sparse_aggregation::kCoo);
}

TEST(AggregationPlan, RefusesPositionsOutOfRange) {
  EXPECT_THROW(plan(Vectors(100, {{1, 100}}), 8), Error);
  EXPECT_THROW(plan(Vectors(100, {{1, 2}, {0xffffffffu, 3}}), 8), Error);
}

TEST(AggregationPlan, SurvivesPositionsOutOfOrder) {
  std::mt19937 random(9);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::uint32_t> any(1 + random() % 100);
    for (std::uint32_t& position : any) position = random() % 10'000'000;
    const AggregationPlan made = plan(Vectors(10'000'000, {any, any}), 8);
    std::size_t entries = 0;
    for (const AggregationUnitPlan& unit : made.units) entries += unit.num_entries;
    EXPECT_EQ(entries, 2 * any.size());  // the kernel then finds what is wrong
  }
}

TEST(AggregationPlan, TakesTheLargestPartition) {
  const AggregationPlan made = plan(Vectors(std::uint64_t{1} << 32, {{0, 0xffffffffu}}), 8);
  ASSERT_EQ(made.slices.size(), 2u);
  EXPECT_EQ(made.slices[1].tile, 16'383u);
}

}  // namespace
}  // namespace tandem::device::xrt_card
