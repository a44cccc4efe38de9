// SPDX-License-Identifier: Apache-2.0
//
// Vectorised conversions against the scalar ones of host/tensor, for every instruction set.
#include "cpu/kernels/rows.h"

#include <cmath>
#include <limits>

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

}  // namespace
}  // namespace tandem::device
