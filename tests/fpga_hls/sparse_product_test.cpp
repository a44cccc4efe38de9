// SPDX-License-Identifier: Apache-2.0
//
// The sparse_product kernel, called as a C++ function, against a loop in its order of sums (every
// bit) and a loop in f64 (within the bound of its page).
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "fpga_hls/product_harness.h"

namespace tandem::sparse_product {
namespace {

class SparseProduct : public ::testing::Test {
 protected:
  float value() { return std::normal_distribution<float>()(random_); }

  // counts: entries of each row.
  Matrix matrix(std::uint32_t columns, const std::vector<std::size_t>& counts) {
    Matrix m;
    m.columns = columns;
    for (const std::size_t count : counts) {
      std::set<std::uint32_t> places;
      while (places.size() < count) {
        places.insert(static_cast<std::uint32_t>(random_() % columns));
      }
      auto& row = m.rows.emplace_back();
      for (const std::uint32_t column : places) row.emplace_back(column, value());
    }
    return m;
  }

  std::vector<float> vector(std::uint32_t size) {
    std::vector<float> x(size);
    for (float& v : x) v = value();
    return x;
  }

  void expect_exact(const Matrix& m, const std::vector<float>& x) {
    const Answer answer = run(pack(m), x);
    ASSERT_EQ(answer.header.status, kOk) << "detail " << answer.header.detail;
    EXPECT_EQ(answer.header.magic, kMagic);
    EXPECT_EQ(answer.header.tag, 77u);
    EXPECT_EQ(answer.header.num_words, result_words(static_cast<std::uint32_t>(m.rows.size())));
    EXPECT_TRUE(answer.guard_is_whole);
    for (std::size_t row = 0; row < m.rows.size(); ++row) {
      const float want = expected(m, row, x);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(answer.y[row])) << row;
        continue;
      }
      ASSERT_EQ(std::bit_cast<std::uint32_t>(answer.y[row]), std::bit_cast<std::uint32_t>(want))
          << row << ": " << answer.y[row] << " instead of " << want;
    }
  }

  std::mt19937_64 random_{11};
};

TEST_F(SparseProduct, GivesTheBitsOfALoopInItsOrder) {
  for (const std::uint32_t columns : {1u, 17u, 700u, 65536u, 65537u, 200'000u}) {
    std::vector<std::size_t> counts = {0,  1,  7, 8, 9,   64,  65, 0,   0,   200, 15,
                                       16, 17, 3, 0, 128, 129, 0,  130, 300, 0};
    for (std::size_t& count : counts) count = std::min<std::size_t>(count, columns);
    SCOPED_TRACE(columns);
    expect_exact(matrix(columns, counts), vector(columns));
  }
}

TEST_F(SparseProduct, StaysWithinItsBoundOfASumInF64) {
  const std::uint32_t columns = 70'000;
  const Matrix m = matrix(columns, {0, 5, 100, 1000, 5000});
  const std::vector<float> x = vector(columns);
  const Answer answer = run(pack(m), x);
  for (std::size_t row = 0; row < m.rows.size(); ++row) {
    double sum = 0, size = 0;
    for (const auto& [column, value] : m.rows[row]) {
      sum += static_cast<double>(value) * static_cast<double>(x[column]);
      size += std::abs(static_cast<double>(value) * static_cast<double>(x[column]));
    }
    const double roundings = static_cast<double>(m.rows[row].size()) / 128 + 10 + 2;
    EXPECT_LE(std::abs(static_cast<double>(answer.y[row]) - sum), size * roundings * 0x1p-24)
        << row;
  }
}

TEST_F(SparseProduct, TakesRowsOfSeveralBlocks) {
  std::vector<std::size_t> counts(kBlockRows + 3, 0);
  counts[0] = counts[kBlockRows - 1] = 5;
  counts[kBlockRows] = 9;
  counts.back() = 2;
  expect_exact(matrix(100, counts), vector(100));
}

TEST_F(SparseProduct, PlacesWithoutEntriesNeverMeetTheVector) {
  Matrix m = matrix(40, {3, 0, 9});
  std::vector<float> x = vector(40);
  std::set<std::uint32_t> used;
  for (const auto& row : m.rows) {
    for (const auto& [column, value] : row) used.insert(column);
  }
  for (std::uint32_t c = 0; c < 40; ++c) {
    if (!used.contains(c)) x[c] = std::numeric_limits<float>::infinity();
  }
  const Answer answer = run(pack(m), x);
  for (const float y : answer.y) EXPECT_TRUE(std::isfinite(y));
  expect_exact(m, x);
}

TEST_F(SparseProduct, KeepsInfinitiesNansAndSubnormals) {
  Matrix m;
  m.columns = 4;
  const float inf = std::numeric_limits<float>::infinity();
  m.rows = {{{0, 1.0f}}, {{1, inf}}, {{1, inf}, {2, -inf}}, {{3, 0x1p-140f}}, {{0, -0.0f}}};
  expect_exact(m, {std::nanf(""), 1.0f, 1.0f, 0.5f});
  expect_exact(m, {1.0f, 1.0f, 0.0f, 3.0f});
}

TEST_F(SparseProduct, ABadMatrixIsRefusedByItsStatus) {
  const Matrix m = matrix(70'000, {3, 0, 20});
  const std::vector<float> x = vector(70'000);
  const PackedMatrix good = pack(m);
  const auto status_of = [&](const auto& change) {
    PackedMatrix bad = good;
    change(bad);
    bad.put_tables();
    const Answer answer = run(bad, x);
    EXPECT_TRUE(answer.guard_is_whole);
    return std::pair(answer.header.status, answer.header.detail);
  };
  using Verdicts = std::pair<Status, std::uint32_t>;
  EXPECT_EQ(status_of([](PackedMatrix& p) { p.header.magic = 7; }), Verdicts(kBadMagic, 7));
  EXPECT_EQ(status_of([](PackedMatrix& p) { p.header.abi_version = 9; }), Verdicts(kBadVersion, 9));
  EXPECT_EQ(status_of([](PackedMatrix& p) { p.header.num_rows = 0; }), Verdicts(kBadShape, 0));
  EXPECT_EQ(status_of([](PackedMatrix& p) { p.header.num_columns = 0; }), Verdicts(kBadShape, 0));
  EXPECT_EQ(status_of([](PackedMatrix& p) { ++p.header.num_words; }), Verdicts(kBadSection, 0));
  EXPECT_EQ(status_of([](PackedMatrix& p) { p.segments[1].lengths_word = 0xffffffffu; }),
            Verdicts(kBadSection, 2));
  EXPECT_EQ(status_of([](PackedMatrix& p) { p.segments[0].groups_word = p.header.num_words; }),
            Verdicts(kBadSection, 1));
  EXPECT_EQ(status_of([](PackedMatrix& p) { --p.segments[1].num_groups; }),
            Verdicts(kBadLengths, 1));
  EXPECT_EQ(status_of([](PackedMatrix& p) { ++p.segments[0].num_steps; }),
            Verdicts(kBadLengths, 0));
  // 70,000 columns leave 4,464 to the second tile.
  EXPECT_EQ(status_of([](PackedMatrix& p) { p.words[p.segments[1].groups_word][0] = 4464; }),
            Verdicts(kBadColumn, 1));
}

TEST_F(SparseProduct, ABufferThatIsTooShortIsRefused) {
  const PackedMatrix p = pack(matrix(40, std::vector<std::size_t>(40, 3)));
  const std::vector<float> x = vector(40);
  EXPECT_EQ(run(p, x, 4, 3).header.status, kOk);
  EXPECT_EQ(run(p, x, 4, 2).header.status, kBadBuffer);
  const Answer answer = run(p, x, 3, 3);
  EXPECT_EQ(answer.header.status, kBadBuffer);
  EXPECT_EQ(answer.header.detail, 1u);
  EXPECT_TRUE(answer.guard_is_whole);
}

TEST_F(SparseProduct, TheModelCountsWhatTheStagesDo) {
  const Segment segment{0, 0, 3000, 3100};
  // The port takes 64 bytes in 16/11 cycles; two units read 1,600 columns from one channel.
  EXPECT_EQ(segment_cycles(segment, 1600, 2), 200u + 2 * 146 + 4364);
  EXPECT_EQ(segment_cycles({0, 0, 3000, 9000}, 1600, 1), 200u + 146 + 9000);
  EXPECT_EQ(row_cycles(1600, 3), 400u + 437 + 100 + 146);
}

}  // namespace
}  // namespace tandem::sparse_product
