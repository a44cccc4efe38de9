// SPDX-License-Identifier: Apache-2.0
//
// Packed matrices, read back by the text of the kernel's abi.h; the model of a card's time.
#include "xrt/products/product_plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>

#include "common/error.h"

namespace tandem::device::xrt_card {
namespace {

namespace product_abi = sparse_product;

struct DrawnMatrix {
  DrawnMatrix(std::uint32_t num_columns, const std::vector<std::size_t>& counts)
      : columns(num_columns) {
    std::mt19937 random(9);
    for (const std::size_t count : counts) {
      std::set<std::int32_t> places;
      while (places.size() < count) {
        places.insert(static_cast<std::int32_t>(random() % num_columns));
      }
      for (const std::int32_t place : places) {
        indices.push_back(place);
        values.push_back(static_cast<float>(values.size() + 1));
      }
      begins.push_back(indices.size());
    }
  }
  SparseRows rows() const { return {columns, begins, indices.data(), values.data()}; }

  std::uint64_t columns;
  std::vector<std::uint64_t> begins = {0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
};

using RowEntries = std::map<std::int32_t, float>;

std::vector<RowEntries> unpacked(const ProductUnitPlan& plan) {
  std::vector<std::byte> bytes(plan.matrix_bytes, std::byte{0xee});
  pack_matrix(plan, bytes);
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  EXPECT_EQ(words[0], product_abi::kMagic);
  EXPECT_EQ(words[2], plan.matrix_bytes / product_abi::kWordBytes);
  const std::uint32_t rows = words[3], tiles = product_abi::num_tiles(words[4]);
  std::vector<RowEntries> result(rows);
  for (std::uint32_t s = 0; s < product_abi::num_blocks(rows) * tiles; ++s) {
    const std::uint32_t* segment = &words[words[5] * 16 + s * 4];
    std::uint32_t group = segment[1], steps = 0;
    for (std::uint32_t r = 0; r < product_abi::block_rows(rows, s / tiles); ++r) {
      const std::uint32_t length = words[segment[0] * 16 + r];
      steps += std::max(length, 1u);
      for (std::uint32_t g = 0; g < length; ++g, ++group) {
        for (std::uint32_t lane = 0; lane < 8; ++lane) {
          const std::uint32_t column = words[group * 16 + lane];
          if (column == product_abi::kNoEntry) continue;
          float value;
          std::memcpy(&value, &words[group * 16 + 8 + lane], 4);
          EXPECT_LT(column, product_abi::kTileColumns);
          result[s / tiles * product_abi::kBlockRows + r]
                [static_cast<std::int32_t>(s % tiles * product_abi::kTileColumns + column)] = value;
        }
      }
    }
    EXPECT_EQ(group - segment[1], segment[2]);
    EXPECT_EQ(steps, segment[3]);
  }
  return result;
}

void expect_whole(const DrawnMatrix& matrix, std::size_t num_units) {
  std::uint64_t next = 0;
  for (const ProductUnitPlan& plan : plan_product(matrix.rows(), num_units)) {
    ASSERT_EQ(plan.first_row, next);
    const std::vector<RowEntries> rows = unpacked(plan);
    for (const RowEntries& row : rows) {
      RowEntries want;
      for (std::uint64_t e = matrix.begins[next]; e < matrix.begins[next + 1]; ++e) {
        want[matrix.indices[e]] = matrix.values[e];
      }
      ASSERT_EQ(row, want) << next;
      ++next;
    }
  }
  EXPECT_EQ(next, matrix.rows().rows());
}

TEST(ProductPlan, EveryEntryIsInOneUnitsMatrix) {
  expect_whole(DrawnMatrix(30, {0, 1, 8, 9, 0, 30, 17, 0}), 3);
  expect_whole(DrawnMatrix(150'000, {0, 1, 800, 9, 0, 3000, 17, 0, 1}), 4);
  expect_whole(DrawnMatrix(5, {2}), 8);
  expect_whole(DrawnMatrix(5, std::vector<std::size_t>(product_abi::kBlockRows + 40, 1)), 1);
}

TEST(ProductPlan, UnitsGetAboutEqualSteps) {
  std::vector<std::size_t> counts(800, 4);
  counts.resize(1000, 32);
  const auto plans = plan_product(DrawnMatrix(50, counts).rows(), 4);
  ASSERT_EQ(plans.size(), 4u);
  for (const ProductUnitPlan& plan : plans) EXPECT_NEAR(plan.segments[0].num_steps, 400, 4);
}

TEST(ProductPlan, ASliceOfRowsIsPackedAsAMatrix) {
  const DrawnMatrix matrix(20, {3, 5, 0, 7});
  const auto plans = plan_product(matrix.rows().slice(1, 4), 1);
  const std::vector<RowEntries> rows = unpacked(plans.front());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].size(), 5u);
  EXPECT_EQ(rows[2].begin()->second, matrix.values[8]);
}

TEST(ProductPlan, WhatTheKernelCannotAddressIsRefused) {
  const std::vector<std::uint64_t> none = {0, 0};
  const std::int32_t index = 0;
  const float value = 0;
  EXPECT_THROW(plan_product({0, none, &index, &value}, 1), Error);
  EXPECT_THROW(plan_product({(1ull << 31) + 1, none, &index, &value}, 1), Error);
  EXPECT_TRUE(plan_product({5, std::span(none).first(1), &index, &value}, 4).empty());
}

TEST(ProductPlan, RatesPredictWhatTheModelSaysOfTheWhole) {
  const ProductCard card{8, 4, 2, {.link_bandwidth_bytes_per_s = 16e9}};
  for (const std::size_t count : {1u, 13u, 200u}) {
    const DrawnMatrix matrix(3000, std::vector<std::size_t>(4000, count));
    const double exact = modelled_seconds(plan_product(matrix.rows(), 8), card);
    const SparseRates rates = product_rates(matrix.rows(), card);
    EXPECT_TRUE(rates.is_modelled);
    EXPECT_NEAR(rates.seconds(4000, matrix.indices.size()), exact, 0.03 * exact) << count;
  }
}

// 4,000 rows of 200 entries: 25 groups of 64 bytes a row, in 8 channels of 13.2 GB/s.
TEST(ProductPlan, TheModelIsBoundByTheMemory) {
  const ProductCard card{8, 4, 2, {.link_bandwidth_bytes_per_s = 16e9}};
  const DrawnMatrix matrix(3000, std::vector<std::size_t>(4000, 200));
  const double memory = 4'000 * 25 * 64 / (8 * 13.2e9);
  const double link = 12 * 10e-6 + (4 * 3000 + 4000) * 4 / 16e9 + 20e-6;
  const double modelled = modelled_seconds(plan_product(matrix.rows(), 8), card);
  EXPECT_GT(modelled, memory + link);
  EXPECT_LT(modelled, memory + link + 10e-6);
}

}  // namespace
}  // namespace tandem::device::xrt_card
