// SPDX-License-Identifier: Apache-2.0
//
// Parts of scales, rows with their scales, and matrices made e4m3.
#include "tensor/weight_scales.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <random>

#include "common/error.h"
#include "tensor/quantize_matrix.h"

namespace tandem {
namespace {

using testing::ElementsAre;

TEST(WeightScales, GivesThePartsThatCutNoBlock) {
  std::vector<float> values(3 * 2);  // of [70, 40] in blocks of [32, 32]
  std::iota(values.begin(), values.end(), 1.0f);
  const WeightScales scales{values.data(), 32, 32};
  EXPECT_EQ(scales.per_row(40), 2);
  EXPECT_EQ(scales.of_row(63, 40), values.data() + 2);
  EXPECT_EQ(scales.of_rows(32, 38, 40)->data, values.data() + 2);
  EXPECT_EQ(scales.of_rows(40, 8, 40)->data, values.data() + 2);  // inside one
  EXPECT_EQ(scales.of_rows(40, 8, 40)->of_row(7, 40), values.data() + 2);
  EXPECT_FALSE(scales.of_rows(40, 30, 40));
  EXPECT_THAT(scales.by_row(62, 3, 40), ElementsAre(3, 4, 3, 4, 5, 6));
  const WeightScales one{values.data(), 70, 40};
  EXPECT_EQ(one.of_rows(13, 50, 40)->of_row(49, 40), values.data());
}

TEST(WeightScales, MultiplyTheRowsOfAView) {
  const std::vector<std::byte> codes(3 * 20, std::byte{0x38});  // 1
  const float scales[] = {2, 3, 5, 7};
  const TensorView view{"m", DType::kF8E4M3, 3, 20, codes.data(), {scales, 2, 16}};
  std::vector<float> row(20);
  for (std::int64_t index = 0; index < 3; ++index) {
    dequantize_row(view, index, row.data());
    for (std::size_t i = 0; i < 20; ++i) {
      EXPECT_EQ(row[i], scales[index / 2 * 2 + (i < 16 ? 0 : 1)]) << index << " " << i;
    }
  }
}

TEST(QuantizeMatrixToF8, GivesEveryRowTheScaleOfItsLargestValue) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(50 * 130);
  for (float& value : values) value = normal(random);
  std::fill_n(values.begin(), 130, 0.0f);
  values[131] = 1e-43f;  // a row of nothing else that large
  std::fill_n(values.begin() + 132, 128, 0.0f);
  values[130] = 0.0f;
  const TensorView from{"m", DType::kF32, 50, 130,
                        reinterpret_cast<const std::byte*>(values.data())};
  std::vector<std::byte> codes(values.size());
  std::vector<float> scales(50);
  ThreadPool pool(2);
  quantize_matrix_to_f8(from, codes.data(), scales.data(), pool);
  const TensorView to{"m", DType::kF8E4M3, 50, 130, codes.data(), {scales.data(), 1, 130}};
  std::vector<float> row(130);
  for (std::int64_t index = 0; index < 50; ++index) {
    const float* want = values.data() + index * 130;
    float peak = 0;
    for (int i = 0; i < 130; ++i) peak = std::max(peak, std::fabs(want[i]));
    ASSERT_TRUE(std::isfinite(scales[static_cast<std::size_t>(index)]));
    dequantize_row(to, index, row.data());
    for (std::size_t i = 0; i < 130; ++i) {
      // half a unit of three bits, or of the smallest code
      const float bound = std::max(std::fabs(want[i]) / 16, peak / 448 / 1024) * 1.001f;
      EXPECT_NEAR(row[i], want[i], std::max(bound, 1e-30f)) << index << " " << i;
    }
  }
}

TEST(QuantizeMatrixToF8, NamesTheRowOfAValueThatIsNotFinite) {
  std::vector<float> values(4 * 8, 1.0f);
  values[2 * 8 + 3] = INFINITY;
  const TensorView from{"m", DType::kF32, 4, 8, reinterpret_cast<const std::byte*>(values.data())};
  std::vector<std::byte> codes(values.size());
  std::vector<float> scales(4);
  ThreadPool pool(1);
  try {
    quantize_matrix_to_f8(from, codes.data(), scales.data(), pool);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'m', row 2"));
  }
}

TEST(FittingType, IsF8OfFloatsOnly) {
  EXPECT_EQ(fitting_type(DType::kF8E4M3, DType::kBF16, 37), DType::kF8E4M3);
  EXPECT_EQ(fitting_type(DType::kF8E4M3, DType::kF32, 64), DType::kF8E4M3);
  EXPECT_EQ(fitting_type(DType::kF8E4M3, DType::kQ8_0, 64), DType::kQ8_0);
  EXPECT_EQ(fitting_type(DType::kF8E4M3, DType::kF8E4M3, 64), DType::kF8E4M3);
  EXPECT_EQ(fitting_type(DType::kQ4_0, DType::kF8E4M3, 64), DType::kQ4_0);
}

}  // namespace
}  // namespace tandem
