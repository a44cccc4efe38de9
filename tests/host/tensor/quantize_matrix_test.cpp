// SPDX-License-Identifier: Apache-2.0
//
// Matrices quantised in parallel: the same bytes as row by row, the types that fit, errors that
// name the row.
#include "tensor/quantize_matrix.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "common/error.h"
#include "tensor/quantize.h"

namespace tandem {
namespace {

struct Matrix {
  std::vector<float> values;
  TensorView view;
};

Matrix matrix(std::int64_t rows, std::int64_t columns) {
  Matrix m;
  m.values.resize(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < m.values.size(); ++i) {
    m.values[i] = std::sin(static_cast<float>(i) * 0.7f) * (1.0f + static_cast<float>(i % 97));
  }
  m.view = {"m", DType::kF32, rows, columns, reinterpret_cast<const std::byte*>(m.values.data())};
  return m;
}

std::vector<std::byte> quantized(const TensorView& from, DType to, ThreadPool& pool) {
  TensorView result = from;
  result.dtype = to;
  std::vector<std::byte> bytes(result.size_bytes());
  quantize_matrix(from, to, bytes.data(), pool);
  return bytes;
}

TEST(QuantizeMatrix, MakesTheRowsOneByOneOnAnyNumberOfThreads) {
  const Matrix m = matrix(301, 512);
  const std::size_t row_bytes = dtype_row_bytes(DType::kQ4_K, 512);
  std::vector<std::byte> expected(301 * row_bytes);
  for (std::size_t row = 0; row < 301; ++row) {
    quantize_row(DType::kQ4_K, m.values.data() + row * 512, expected.data() + row * row_bytes, 512);
  }
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(quantized(m.view, DType::kQ4_K, pool), expected) << threads;
  }
}

TEST(QuantizeMatrix, ReadsQuantisedMatrices) {
  const Matrix m = matrix(8, 256);
  ThreadPool pool(1);
  const std::vector<std::byte> eight = quantized(m.view, DType::kQ8_0, pool);
  const TensorView view{"m", DType::kQ8_0, 8, 256, eight.data()};
  const std::vector<std::byte> four = quantized(view, DType::kQ4_0, pool);
  std::vector<float> back(256);
  dequantize_row(DType::kQ4_0, four.data() + 7 * dtype_row_bytes(DType::kQ4_0, 256), back.data(),
                 256);
  double error = 0.0, power = 0.0;
  for (std::size_t i = 0; i < 256; ++i) {
    error += std::pow(static_cast<double>(back[i] - m.values[7 * 256 + i]), 2);
    power += std::pow(static_cast<double>(m.values[7 * 256 + i]), 2);
  }
  EXPECT_LT(std::sqrt(error / power), 0.1);
}

TEST(QuantizeMatrix, NamesTheRowThatCannotBeQuantised) {
  Matrix m = matrix(300, 256);
  m.values[217 * 256 + 3] = NAN;
  ThreadPool pool(2);
  try {
    quantized(m.view, DType::kQ8_0, pool);
    FAIL() << "accepted NaN";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'m', row 217"));
  }
}

TEST(FittingType, IsTheWantedOneWhereItsBlocksDivideTheRows) {
  EXPECT_EQ(fitting_type(DType::kQ4_K, DType::kF16, 512), DType::kQ4_K);
  EXPECT_EQ(fitting_type(DType::kQ4_0, DType::kF32, 96), DType::kQ4_0);
}

TEST(FittingType, FallsBackToBlocksOf32ThatKeepAsMuch) {
  EXPECT_EQ(fitting_type(DType::kQ4_K, DType::kF16, 640), DType::kQ4_1);
  EXPECT_EQ(fitting_type(DType::kQ5_K, DType::kF16, 640), DType::kQ5_1);
  EXPECT_EQ(fitting_type(DType::kQ6_K, DType::kF16, 640), DType::kQ8_0);
  EXPECT_EQ(fitting_type(DType::kQ6_K, DType::kF16, 100), DType::kF16);
  EXPECT_EQ(fitting_type(DType::kQ8_0, DType::kBF16, 100), DType::kBF16);
}

TEST(FittingType, NeverGrowsAMatrix) {
  EXPECT_EQ(fitting_type(DType::kQ8_0, DType::kQ8_0, 256), DType::kQ8_0);
  EXPECT_EQ(fitting_type(DType::kQ8_0, DType::kQ4_0, 256), DType::kQ4_0);
  EXPECT_EQ(fitting_type(DType::kQ6_K, DType::kQ8_0, 640), DType::kQ8_0);
  EXPECT_EQ(fitting_type(DType::kQ4_K, DType::kQ4_0, 256), DType::kQ4_0);
  EXPECT_EQ(fitting_type(DType::kQ4_0, DType::kQ8_0, 256), DType::kQ4_0);
}

}  // namespace
}  // namespace tandem
