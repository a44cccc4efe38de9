// SPDX-License-Identifier: Apache-2.0
//
// Vectorised conversions against the scalar ones of host/tensor, for every instruction set.
#include "cpu/kernels/rows/rows.h"

#include <cmath>
#include <limits>

#include "cpu/kernels/attention/kv_rows.h"
#include "target_fixture.h"
#include "tensor/dtype.h"

namespace tandem::device {
namespace {

class CpuRows : public OnEveryTarget {};

TEST_P(CpuRows, ReadsEveryHalf) {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  std::vector<float> values(halves.size());
  cpu::from_f16(halves.data(), halves.size(), values.data());
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const float want = f16_to_f32(halves[i]);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(values[i])) << i;
    } else {
      ASSERT_EQ(values[i], want) << i;
    }
  }
}

TEST_P(CpuRows, WritesHalvesAsTheScalarConversionDoes) {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < 0x7c00; ++i) {  // every half, the midpoint behind it, and beside
    const float half = f16_to_f32(static_cast<std::uint16_t>(i));
    const float middle = (half + f16_to_f32(static_cast<std::uint16_t>(i + 1))) / 2;
    for (const float x : {half, middle, std::nextafter(middle, 0.0f), -middle}) {
      values.push_back(std::isfinite(x) ? x : 65520.0f);
    }
  }
  std::vector<std::uint16_t> halves(values.size());
  cpu::to_f16(values.data(), values.size(), halves.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(halves[i], f32_to_f16(values[i])) << values[i];
  }
}

TEST_P(CpuRows, QuantisesToTheNearestStep) {
  for (const std::size_t count : {1u, 8u, 24u, 33u, 128u}) {
    const auto values = randoms(count);
    std::vector<std::int8_t> bytes(count);
    const float scale = cpu::to_i8(values.data(), count, bytes.data());
    float peak = 0;
    for (const float x : values) peak = std::max(peak, std::fabs(x));
    EXPECT_EQ(scale, peak / 127.0f);
    std::vector<float> back(count);
    cpu::from_i8(bytes.data(), scale, count, back.data());
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_LE(std::fabs(values[i] - back[i]), 0.5001f * scale) << i;
      EXPECT_EQ(back[i], static_cast<float>(bytes[i]) * scale);
    }
  }
}

TEST_P(CpuRows, QuantisesZerosToZeroAndMarksWhatIsNotFinite) {
  std::vector<float> values(24, 0.0f);
  std::vector<std::int8_t> bytes(24, 1);
  EXPECT_EQ(cpu::to_i8(values.data(), 24, bytes.data()), 0.0f);
  EXPECT_EQ(bytes, std::vector<std::int8_t>(24, 0));
  for (const std::size_t at : {0u, 20u}) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      values.assign(24, 1.0f);
      values[at] = bad;
      EXPECT_TRUE(std::isnan(cpu::to_i8(values.data(), 24, bytes.data())));
    }
  }
}

INSTANTIATE_ON_EVERY_TARGET(CpuRows);

TEST_P(CpuRows, KeepsTheLargestAndTheSmallestValuesInFloat8) {
  for (const float peak : {3e38f, std::numeric_limits<float>::max(), 0x1.dp127f}) {
    std::vector<float> values(40, 0.0f), back(40);
    values[1] = peak;
    values[39] = -peak;
    std::vector<std::uint8_t> bytes(values.size());
    const float scale = cpu::narrow_kv(DType::kF8E4M3, values.data(), values.size(), bytes.data());
    EXPECT_EQ(scale, 0x1p119f);
    cpu::widen_kv(DType::kF8E4M3, bytes.data(), scale, bytes.size(), back.data());
    EXPECT_EQ(back[0], 0.0f);
    EXPECT_EQ(back[1], 0x1.cp127f) << peak;
    EXPECT_EQ(back[39], -0x1.cp127f) << peak;
  }
  const std::vector<float> zeros(40, 0.0f), least(40, std::numeric_limits<float>::denorm_min());
  std::vector<std::uint8_t> bytes(40);
  EXPECT_EQ(cpu::narrow_kv(DType::kF8E4M3, zeros.data(), 40, bytes.data()), 0x1p-126f);
  EXPECT_EQ(bytes, std::vector<std::uint8_t>(40, 0));
  EXPECT_EQ(cpu::narrow_kv(DType::kF8E4M3, least.data(), 40, bytes.data()), 0x1p-126f);
}

TEST_P(CpuRows, NarrowsToKvTypesAsTheScalarConversionsDo) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = randoms(509, 3.0f);
  for (int exponent = -30; exponent < 12; ++exponent) {  // every binade, and ties of float8
    for (const float x : {1.0f, -1.0625f, 1.1875f, 1.99f})
      values.push_back(std::ldexp(x, exponent));
  }
  values.insert(values.end(), {0.0f, -0.0f, 448.0f * 16, -7400.0f});
  std::vector<std::uint16_t> halves(values.size());
  EXPECT_EQ(cpu::narrow_kv(DType::kBF16, values.data(), values.size(), halves.data()), 1.0f);
  std::vector<std::uint8_t> bytes(values.size());
  const float scale = cpu::narrow_kv(DType::kF8E4M3, values.data(), values.size(), bytes.data());
  EXPECT_EQ(scale, 32.0f);  // 7400 is the largest
  std::vector<float> wide(values.size()), wider(values.size());
  cpu::widen_kv(DType::kF8E4M3, bytes.data(), scale, bytes.size(), wide.data());
  cpu::widen_kv(DType::kBF16, halves.data(), 1.0f, halves.size(), wider.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(halves[i], f32_to_bf16(values[i])) << values[i];
    EXPECT_EQ(wider[i], bf16_to_f32(halves[i]));
    EXPECT_EQ(bytes[i], f32_to_f8(values[i] / scale)) << values[i];
    EXPECT_EQ(wide[i], f8_to_f32(bytes[i]) * scale);
  }
  for (const float poison : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    values[7] = poison;
    EXPECT_TRUE(
        std::isnan(cpu::narrow_kv(DType::kF8E4M3, values.data(), values.size(), bytes.data())));
    EXPECT_EQ(bytes[0], 0);
    cpu::narrow_kv(DType::kBF16, values.data(), values.size(), halves.data());
    EXPECT_EQ(halves[7], f32_to_bf16(poison));
  }
}

}  // namespace
}  // namespace tandem::device
