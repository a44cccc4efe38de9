// SPDX-License-Identifier: Apache-2.0
//
// Element types: every half-precision value, rounding at every midpoint, quantised blocks.
#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace tandem {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The value of finite half bits from their definition.
double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

bool is_finite_half(std::uint16_t bits) { return (bits & 0x7c00) != 0x7c00; }

TEST(Half, ReadsEveryValue) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = f16_to_f32(bits);
    if (is_finite_half(bits)) {
      ASSERT_EQ(value, half_value(bits)) << i;
      ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << i;
    } else if ((bits & 0x3ff) == 0) {
      ASSERT_EQ(value, (bits & 0x8000) != 0 ? -kInfinity : kInfinity) << i;
    } else {
      ASSERT_TRUE(std::isnan(value)) << i;
    }
  }
}

TEST(Half, WritesBackEveryValue) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const std::uint16_t back = f32_to_f16(f16_to_f32(bits));
    if (is_finite_half(bits) || (bits & 0x3ff) == 0) {
      ASSERT_EQ(back, bits);
    } else {
      ASSERT_TRUE(std::isnan(f16_to_f32(back))) << i;
    }
  }
}

TEST(Half, RoundsToNearestEvenAtEveryMidpoint) {
  for (std::uint16_t low = 0; low < 0x7bff; ++low) {
    const std::uint16_t high = low + 1;
    const auto middle = static_cast<float>((half_value(low) + half_value(high)) / 2);  // exact
    const std::uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(f32_to_f16(middle), even) << low;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), low) << low;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, kInfinity)), high) << low;
    ASSERT_EQ(f32_to_f16(-middle), even | 0x8000) << low;
  }
}

TEST(Half, OverflowsToInfinityFromHalfwayOn) {
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-1e30f), 0xfc00);
  EXPECT_EQ(f32_to_f16(kInfinity), 0x7c00);
}

TEST(BFloat16, WritesBackEveryValueAndRoundsToNearestEven) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = bf16_to_f32(bits);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(value))));
      continue;
    }
    ASSERT_EQ(f32_to_bf16(value), bits);
    if (!std::isfinite(value)) continue;
    const float middle = std::bit_cast<float>((i << 16) | 0x8000u);
    const auto even = static_cast<std::uint16_t>(bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(f32_to_bf16(middle), even) << i;
  }
}

// The value of finite E4M3FN bits from their definition.
double f8_value(int bits) {
  const int exponent = (bits >> 3) & 15, mantissa = bits & 7;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

TEST(Float8, ReadsAndWritesBackEveryValue) {
  for (int bits = 0; bits < 256; ++bits) {
    const float value = f8_to_f32(static_cast<std::uint8_t>(bits));
    const std::uint8_t back = f32_to_f8(value);
    if ((bits & 0x7f) == 0x7f) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(value, f8_value(bits)) << bits;
      ASSERT_EQ(std::signbit(value), bits >= 0x80) << bits;
    }
    ASSERT_EQ(back, bits);
  }
}

TEST(Float8, RoundsToNearestEvenAtEveryMidpoint) {
  for (int low = 0; low < 0x7e; ++low) {
    const auto middle = static_cast<float>((f8_value(low) + f8_value(low + 1)) / 2);  // exact
    const int even = low % 2 == 0 ? low : low + 1;
    ASSERT_EQ(f32_to_f8(middle), even) << low;
    ASSERT_EQ(f32_to_f8(std::nextafter(middle, 0.0f)), low) << low;
    ASSERT_EQ(f32_to_f8(std::nextafter(middle, kInfinity)), low + 1) << low;
    ASSERT_EQ(f32_to_f8(-middle), even | 0x80) << low;
  }
}

TEST(Float8, SaturatesAtItsLargestValue) {
  EXPECT_EQ(f8_to_f32(f32_to_f8(449.0f)), 448.0f);
  EXPECT_EQ(f8_to_f32(f32_to_f8(-1e30f)), -448.0f);
  EXPECT_EQ(f8_to_f32(f32_to_f8(kInfinity)), 448.0f);
  EXPECT_EQ(f32_to_f8(1e-30f), 0);
  EXPECT_TRUE(std::isnan(f8_to_f32(f32_to_f8(-std::numeric_limits<float>::quiet_NaN()))));
}

TEST(DType, StatesBlocksAndRowBytes) {
  EXPECT_EQ(dtype_row_bytes(DType::kF32, 5), 20u);
  EXPECT_EQ(dtype_row_bytes(DType::kF16, 5), 10u);
  EXPECT_EQ(dtype_row_bytes(DType::kBF16, 5), 10u);
  EXPECT_EQ(dtype_row_bytes(DType::kI8, 5), 5u);
  EXPECT_EQ(dtype_row_bytes(DType::kQ8_0, 64), 68u);
  EXPECT_EQ(dtype_row_bytes(DType::kQ4_0, 64), 36u);
  EXPECT_EQ(dtype_row_bytes(DType::kQ4_1, 64), 40u);
  EXPECT_EQ(dtype_row_bytes(DType::kQ5_0, 64), 44u);
  EXPECT_EQ(dtype_row_bytes(DType::kQ5_1, 64), 48u);
  EXPECT_EQ(dtype_row_bytes(DType::kIQ4_NL, 64), 36u);
  EXPECT_EQ(dtype_row_bytes(DType::kQ4_K, 512), 288u);
  EXPECT_EQ(dtype_row_bytes(DType::kQ5_K, 512), 352u);
  EXPECT_EQ(dtype_row_bytes(DType::kQ6_K, 512), 420u);
  EXPECT_EQ(dtype_row_bytes(DType::kF8E4M3, 5), 5u);
  EXPECT_EQ(dtype_name(DType::kQ4_0), "q4_0");
  EXPECT_EQ(dtype_name(DType::kIQ4_NL), "iq4_nl");
  EXPECT_EQ(dtype_name(DType::kF8E4M3), "f8_e4m3");
}

TEST(DType, ReadsQ4BlocksLowNibblesFirst) {
  BlockQ4_0 block;
  block.scale = f32_to_f16(0.5f);
  for (int i = 0; i < 16; ++i) block.nibbles[i] = static_cast<std::uint8_t>(i | ((15 - i) << 4));
  float values[32];
  dequantize_row(DType::kQ4_0, reinterpret_cast<const std::byte*>(&block), values, 32);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(values[i], 0.5f * static_cast<float>(i - 8));
    EXPECT_EQ(values[16 + i], 0.5f * static_cast<float>(7 - i));
  }
}

TEST(DType, ReadsFloatRows) {
  const float from[] = {1.5f, -2.0f, 0.0f};
  float to[3];
  dequantize_row(DType::kF32, reinterpret_cast<const std::byte*>(from), to, 3);
  EXPECT_EQ(std::memcmp(from, to, sizeof(to)), 0);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    std::uint16_t bits[3];
    for (int i = 0; i < 3; ++i)
      bits[i] = dtype == DType::kF16 ? f32_to_f16(from[i]) : f32_to_bf16(from[i]);
    dequantize_row(dtype, reinterpret_cast<const std::byte*>(bits), to, 3);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(to[i], from[i]);
  }
}

}  // namespace
}  // namespace tandem
