// SPDX-License-Identifier: Apache-2.0
//
// Quantisers by what dequantize_row() gives back: errors on Gaussian rows below stated figures, and
// the rows that break careless searches.
#include "tensor/quantize.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/error.h"

namespace tandem {
namespace {

struct Bound {
  DType dtype;
  double rms;  // of the error, relative to the values'
};
constexpr Bound kBounds[] = {
    {DType::kF16, 3e-4},    {DType::kBF16, 2e-3},    {DType::kQ8_0, 0.0057}, {DType::kQ6_K, 0.0185},
    {DType::kQ5_K, 0.0365}, {DType::kQ5_1, 0.0365},  {DType::kQ5_0, 0.0425}, {DType::kQ4_K, 0.0735},
    {DType::kQ4_1, 0.0735}, {DType::kIQ4_NL, 0.076}, {DType::kQ4_0, 0.0845}};

std::vector<float> gaussian(std::size_t count, float deviation, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<std::byte> quantized(DType dtype, const std::vector<float>& values) {
  std::vector<std::byte> bytes(dtype_row_bytes(dtype, values.size()));
  quantize_row(dtype, values.data(), bytes.data(), values.size());
  return bytes;
}

std::vector<float> round_trip(DType dtype, const std::vector<float>& values) {
  const std::vector<std::byte> bytes = quantized(dtype, values);
  std::vector<float> back(values.size());
  dequantize_row(dtype, bytes.data(), back.data(), back.size());
  return back;
}

double relative_rms(const std::vector<float>& values, const std::vector<float>& back) {
  double error = 0.0, power = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = static_cast<double>(values[i]) - static_cast<double>(back[i]);
    error += difference * difference;
    power += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  return std::sqrt(error / power);
}

class Quantize : public testing::TestWithParam<Bound> {
 protected:
  DType dtype() const { return GetParam().dtype; }
  bool in_blocks() const { return can_quantize(dtype()); }
};

TEST_P(Quantize, KeepsGaussianRowsWithinItsBound) {
  for (const float deviation : {0.02f, 1.0f, 300.0f}) {
    const std::vector<float> values = gaussian(256 * 64, deviation);
    EXPECT_LT(relative_rms(values, round_trip(dtype(), values)), GetParam().rms) << deviation;
  }
}

// Blocks whose deviations differ by thousands: every block has its own scale, so small ones keep
// their precision.
TEST_P(Quantize, KeepsBlocksOfUnequalSize) {
  for (const float deviation : {0.001f, 0.03f, 5.0f}) {
    std::vector<float> values = gaussian(512, 40.0f);
    const std::vector<float> small = gaussian(256, deviation);
    values.insert(values.begin() + 256, small.begin(), small.end());
    const std::vector<float> back = round_trip(dtype(), values);
    const std::vector<float> middle(back.begin() + 256, back.begin() + 512);
    EXPECT_LT(relative_rms(small, middle), 1.2 * GetParam().rms) << deviation;
  }
}

TEST_P(Quantize, KeepsAnOutlier) {
  std::vector<float> values = gaussian(256, 0.01f);
  for (const float outlier : {3.0f, -3.0f}) {
    values[77] = outlier;
    const std::vector<float> back = round_trip(dtype(), values);
    EXPECT_NEAR(back[77], outlier, 0.03);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(back[i], values[i], 0.21) << i;
  }
}

TEST_P(Quantize, KeepsValuesOfOneSign) {
  std::vector<float> values = gaussian(256 * 8, 1.0f);
  for (const float sign : {1.0f, -1.0f}) {
    for (float& value : values) value = sign * std::fabs(value);
    EXPECT_LT(relative_rms(values, round_trip(dtype(), values)), 1.4 * GetParam().rms) << sign;
  }
}

TEST_P(Quantize, KeepsZerosAndConstants) {
  for (const float value : round_trip(dtype(), std::vector<float>(256, 0.0f))) {
    EXPECT_EQ(value, 0.0f);
  }
  for (const float constant : {0.37f, -0.37f, 0.02f, -200.0f}) {
    for (const float value : round_trip(dtype(), std::vector<float>(256, constant))) {
      ASSERT_NEAR(value, constant, std::fabs(constant) * 0.004f) << constant;
    }
  }
}

TEST_P(Quantize, MakesFiniteValuesOfExtremeOnes) {
  for (const float size : {1e-38f, 1e-30f, 1e-9f, 1e4f, 1e20f, 3e38f}) {
    std::vector<float> values = gaussian(512, 1.0f);
    for (float& value : values) value = std::clamp(value, -1.0f, 1.0f) * size;
    const std::vector<float> back = round_trip(dtype(), values);
    if (dtype() == DType::kF16) continue;  // has infinity for what it cannot hold
    for (std::size_t i = 0; i < back.size(); ++i) {
      ASSERT_TRUE(std::isfinite(back[i])) << size;
      ASSERT_LE(std::fabs(back[i]), 1.1f * std::fabs(size) + 1e-4f) << size;
    }
  }
}

TEST_P(Quantize, RefusesWhatIsNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values = gaussian(512, 1.0f);
    values[300] = bad;
    try {
      quantized(dtype(), values);
      FAIL() << "accepted " << bad;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("value 300 of a row is"));
    }
  }
}

TEST_P(Quantize, DoesNotDependOnWhereARowIsCut) {
  const std::vector<float> values = gaussian(1024, 0.1f);
  const std::vector<std::byte> whole = quantized(dtype(), values);
  std::vector<std::byte> parts;
  for (std::size_t begin = 0; begin < values.size(); begin += 256) {
    const std::vector<std::byte> part = quantized(
        dtype(), std::vector<float>(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                    values.begin() + static_cast<std::ptrdiff_t>(begin) + 256));
    parts.insert(parts.end(), part.begin(), part.end());
  }
  EXPECT_EQ(whole, parts);
}

TEST_P(Quantize, LosesLittleWhenRepeated) {
  const std::vector<float> once = round_trip(dtype(), gaussian(256 * 16, 0.1f));
  EXPECT_LT(relative_rms(once, round_trip(dtype(), once)), 0.6 * GetParam().rms);
}

INSTANTIATE_TEST_SUITE_P(EveryType, Quantize, testing::ValuesIn(kBounds), [](const auto& info) {
  return std::string(dtype_name(info.param.dtype));
});

TEST(QuantizeRow, RefusesTypesThatAreNoWeights) {
  const std::vector<float> values(32, 1.0f);
  std::vector<std::byte> to(512);
  for (const DType dtype : {DType::kI8, DType::kI32, DType::kF64, DType::kU64, DType::kF8E4M3}) {
    EXPECT_THROW(quantize_row(dtype, values.data(), to.data(), values.size()), Error);
    EXPECT_FALSE(can_quantize(dtype));
  }
}

TEST(QuantizeQ8, TakesThePeakAsItsRange) {
  std::vector<float> values(32, 0.0f);
  values[3] = -254.0f;
  values[4] = 2.0f;
  BlockQ8_0 block;
  quantize_row(DType::kQ8_0, values.data(), reinterpret_cast<std::byte*>(&block), 32);
  EXPECT_EQ(f16_to_f32(block.scale), 2.0f);
  EXPECT_EQ(block.q[3], -127);
  EXPECT_EQ(block.q[4], 1);
}

}  // namespace
}  // namespace tandem
