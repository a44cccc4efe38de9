// SPDX-License-Identifier: Apache-2.0
//
// Kernels over rows against naive loops over all cells in double precision.
#include "tensor/sparse/kernels/row_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "../random_tensor.h"
#include "common/error.h"

namespace tandem::sparse {
namespace {

using test::Index;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <typename Value>
FactorMatrix<Value> random_dense(std::uint64_t rows, std::size_t columns, unsigned seed) {
  std::mt19937_64 engine(seed);
  FactorMatrix<Value> dense(rows, columns);
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::size_t c = 0; c < columns; ++c) {
      dense.row(row)[c] = static_cast<Value>(static_cast<double>(engine() % 2001) / 1000 - 1);
    }
  }
  return dense;
}

// Values from -1 to 1; some rows are empty, one is long.
CooTensor pattern(std::uint64_t rows, std::uint64_t columns, std::size_t num_entries) {
  CooTensor tensor = test::random_tensor({rows, columns}, num_entries, 5);
  for (double& value : tensor.values) value /= 200;
  for (std::uint64_t column = 0; column < columns; ++column) {
    tensor.append(Index{rows / 2, column}, 0.25);
  }
  return tensor;
}

double dot_of(const double* a, const double* b, std::size_t count) {
  return std::inner_product(a, a + count, b, 0.0);
}

template <typename Value>
class RowKernels : public testing::Test {};
using RowValues = testing::Types<float, double>;
TYPED_TEST_SUITE(RowKernels, RowValues);

constexpr std::pair<std::uint64_t, std::uint64_t> kShapes[] = {
    {1, 1}, {40, 70}, {300, 9}, {7, 500}};

TYPED_TEST(RowKernels, SpmvIsTheNaiveLoopAndTheSameForEveryNumberOfThreads) {
  const double epsilon = 64 * static_cast<double>(std::numeric_limits<TypeParam>::epsilon());
  for (const auto& [rows, columns] : kShapes) {
    const CooTensor tensor = pattern(rows, columns, 400);
    const auto x = random_dense<TypeParam>(columns, 1, 6);
    std::vector<TypeParam> plain(columns), first(rows);
    for (std::uint64_t c = 0; c < columns; ++c) plain[c] = x.row(c)[0];
    std::vector<double> expected(rows), magnitudes(rows);
    for (const auto& [index, value] : test::entries_of(tensor)) {
      const double term = value * static_cast<double>(plain[index[1]]);
      expected[index[0]] += term;
      magnitudes[index[0]] += std::abs(term);
    }
    for (const int threads : {1, 2, 5}) {
      ThreadPool pool(threads);
      std::vector<TypeParam> y(rows, 7);
      spmv<TypeParam>(row_matrix<TypeParam>(tensor, pool), plain, y, pool);
      for (std::uint64_t row = 0; row < rows; ++row) {
        EXPECT_NEAR(static_cast<double>(y[row]), expected[row], epsilon * magnitudes[row]);
      }
      if (threads == 1) first = y;
      EXPECT_EQ(y, first);
    }
  }
}

TYPED_TEST(RowKernels, SddmmIsTheNaiveLoopAtEveryEntry) {
  const double epsilon = 64 * static_cast<double>(std::numeric_limits<TypeParam>::epsilon());
  for (const auto& [rows, columns] : kShapes) {
    const CooTensor tensor = pattern(rows, columns, 400);
    for (const std::size_t width : {1, 16, 35}) {
      const auto left = random_dense<TypeParam>(rows, width, 7);
      const auto right = random_dense<TypeParam>(columns, width, 8);
      for (const int threads : {1, 3}) {
        ThreadPool pool(threads);
        const auto matrix = row_matrix<TypeParam>(tensor, pool);
        std::vector<TypeParam> out(matrix.values.size(), 7);
        sddmm<TypeParam>(matrix, left, right, out, pool);
        std::size_t entry = 0;
        for (const auto& [index, value] : test::entries_of(tensor)) {
          double sum = 0;
          for (std::size_t c = 0; c < width; ++c) {
            sum += static_cast<double>(left.row(index[0])[c]) *
                   static_cast<double>(right.row(index[1])[c]);
          }
          EXPECT_NEAR(static_cast<double>(out[entry++]), value * sum,
                      epsilon * static_cast<double>(width) * std::abs(value));
        }
      }
    }
  }
}

TYPED_TEST(RowKernels, AttentionIsSoftmaxOverTheEntriesOfARow) {
  const double epsilon = 256 * static_cast<double>(std::numeric_limits<TypeParam>::epsilon());
  for (const auto& [rows, columns] : kShapes) {
    const CooTensor tensor = pattern(rows, columns, 300);
    const std::size_t width = 20;
    const auto queries = random_dense<TypeParam>(rows, width, 9);
    const auto keys = random_dense<TypeParam>(columns, width, 10);
    const auto values = random_dense<TypeParam>(columns, width + 15, 11);
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads);
      FactorMatrix<TypeParam> out(rows, width + 15);
      std::fill(out.values.begin(), out.values.end(), TypeParam{7});
      // Scores of hundreds: exp() without their maximum would overflow.
      sparse_attention<TypeParam>(row_matrix<TypeParam>(tensor, pool),
                                  {&queries, &keys, &values, TypeParam{100}}, out, pool);
      std::vector<std::vector<double>> sums(rows, std::vector<double>(width + 15));
      std::vector<double> totals(rows), most(rows, -1e300);
      for (const bool adds : {false, true}) {
        for (const auto& [index, value] : test::entries_of(tensor)) {
          const std::uint64_t row = index[0];
          std::vector<double> q(queries.row(row), queries.row(row) + width);
          std::vector<double> k(keys.row(index[1]), keys.row(index[1]) + width);
          const double score = 100 * value * dot_of(q.data(), k.data(), width);
          if (!adds) {
            most[row] = std::max(most[row], score);
            continue;
          }
          const double weight = std::exp(score - most[row]);
          totals[row] += weight;
          for (std::size_t c = 0; c < width + 15; ++c) {
            sums[row][c] += weight * static_cast<double>(values.row(index[1])[c]);
          }
        }
      }
      for (std::uint64_t row = 0; row < rows; ++row) {
        for (std::size_t c = 0; c < width + 15; ++c) {
          const double expected = totals[row] == 0 ? 0 : sums[row][c] / totals[row];
          EXPECT_NEAR(static_cast<double>(out.row(row)[c]), expected, 1000 * epsilon);
        }
      }
    }
  }
}

TEST(RowMatrix, SumsDuplicatesAndTellsWhatItCannotHold) {
  ThreadPool pool(2);
  CooTensor tensor({2, 3});
  tensor.append(Index{1, 2}, 1);
  tensor.append(Index{0, 1}, 2);
  tensor.append(Index{1, 2}, 3);
  const RowMatrix<float> matrix = row_matrix<float>(tensor, pool);
  EXPECT_THAT(matrix.begins, testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(matrix.indices, testing::ElementsAre(1, 2));
  EXPECT_THAT(matrix.values, testing::ElementsAre(2, 4));
  EXPECT_EQ(matrix.size_bytes(), 3 * 8 + 2 * 4 + 2 * 4);
  EXPECT_THAT(
      [&] {
        row_matrix<float>(CooTensor({2, 2, 2}), pool);
      },
      ThrowsMessage<Error>(HasSubstr("order 3")));
  EXPECT_THAT(
      [&] {
        row_matrix<float>(CooTensor({2, (std::uint64_t{1} << 31) + 1}), pool);
      },
      ThrowsMessage<Error>(HasSubstr("at most 2^31 are possible")));
  EXPECT_NO_THROW(row_matrix<double>(CooTensor({2, std::uint64_t{1} << 31}), pool));
}

TYPED_TEST(RowKernels, SpmmOverRowsIsTheNaiveLoop) {
  const double epsilon = 64 * static_cast<double>(std::numeric_limits<TypeParam>::epsilon());
  for (const auto& [rows, columns] : kShapes) {
    ThreadPool pool(2);
    const CooTensor tensor = pattern(rows, columns, 400);
    const auto dense = random_dense<TypeParam>(columns, 19, 8);
    FactorMatrix<TypeParam> out(rows, 19);
    std::ranges::fill(out.values, TypeParam{5});
    row_spmm(row_matrix<TypeParam>(tensor, pool), dense, out, pool);
    std::vector<double> expected(rows * 19), magnitudes(rows * 19);
    for (const auto& [index, value] : test::entries_of(tensor)) {
      for (std::size_t c = 0; c < 19; ++c) {
        const double term = value * static_cast<double>(dense.row(index[1])[c]);
        expected[index[0] * 19 + c] += term;
        magnitudes[index[0] * 19 + c] += std::abs(term);
      }
    }
    for (std::uint64_t row = 0; row < rows; ++row) {
      for (std::size_t c = 0; c < 19; ++c) {
        ASSERT_NEAR(static_cast<double>(out.row(row)[c]), expected[row * 19 + c],
                    epsilon * magnitudes[row * 19 + c]);
      }
    }
  }
}

}  // namespace
}  // namespace tandem::sparse
