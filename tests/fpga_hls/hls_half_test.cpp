// SPDX-License-Identifier: Apache-2.0
//
// half: all of its 65,536 values, and conversions at every kind of boundary, against the
// independent conversions of host/tensor.
#include "hls_half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tensor/dtype.h"

namespace tandem {
namespace {

static_assert(sizeof(half) == 2 && std::is_trivially_default_constructible_v<half>);

half half_of(std::uint16_t bits) {
  half value;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof(bits));
  return value;
}

std::uint16_t bits_of(half value) {
  std::uint16_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

TEST(Half, WidensEveryValueExactlyAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const half value = half_of(static_cast<std::uint16_t>(bits));
    const float wide = value, want = f16_to_f32(static_cast<std::uint16_t>(bits));
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(wide)) << bits;
      EXPECT_TRUE(std::isnan(static_cast<float>(half(wide)))) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide), std::bit_cast<std::uint32_t>(want)) << bits;
      ASSERT_EQ(bits_of(half(wide)), bits) << bits;
    }
  }
}

TEST(Half, RoundsToNearestEvenBetweenAllNeighbours) {
  for (std::uint32_t bits = 0; bits < 0x7c00u; ++bits) {
    const float low = f16_to_f32(static_cast<std::uint16_t>(bits));
    // Past the largest value stands 65536, where infinity would be.
    const float high =
        bits == 0x7bffu ? 65536.0f : f16_to_f32(static_cast<std::uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact
    const std::uint16_t even = static_cast<std::uint16_t>(bits + (bits & 1));
    ASSERT_EQ(bits_of(half(middle)), even);
    ASSERT_EQ(bits_of(half(std::nextafter(middle, 0.0f))), bits);
    ASSERT_EQ(bits_of(half(std::nextafter(middle, 1e9f))), bits + 1);
    ASSERT_EQ(bits_of(half(-middle)), even | 0x8000u);
  }
}

TEST(Half, ConvertsRandomFloatsAsTheHostDoes) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(bits_of(half(value)), f32_to_f16(value)) << value;
  }
}

TEST(Half, RoundsDoublesOnce) {
  // Halfway between 1 and the next half, plus what a float cannot hold: rounding twice gives 1.
  const double middle = 1.0 + 0x1p-11;
  EXPECT_EQ(bits_of(half(middle + 0x1p-40)), 0x3c01);
  EXPECT_EQ(bits_of(half(middle)), 0x3c00);
  EXPECT_EQ(bits_of(half(middle - 0x1p-40)), 0x3c00);
  EXPECT_EQ(bits_of(half(1e300)), 0x7c00);
  EXPECT_EQ(bits_of(half(-1e-300)), 0x8000);
}

TEST(Half, AddsAndMultipliesWithOneRounding) {
  std::mt19937 random(2);
  for (int i = 0; i < 200000; ++i) {
    const half a = half_of(static_cast<std::uint16_t>(random())),
               b = half_of(static_cast<std::uint16_t>(random()));
    const double x = static_cast<float>(a), y = static_cast<float>(b);
    if (std::isnan(x) || std::isnan(y)) continue;
    const half sums[] = {a + b, a - b, a * b};
    const double wants[] = {x + y, x - y, x * y};  // exact in double
    for (int k = 0; k < 3; ++k) {
      if (std::isnan(wants[k])) continue;
      ASSERT_EQ(bits_of(sums[k]), bits_of(half(wants[k]))) << x << " " << y;
    }
  }
}

TEST(Half, MixesWithNativeNumbers) {
  const half a = 1.5f;
  EXPECT_EQ(a * 2, 3.0f);
  EXPECT_EQ(2.5f + a, 4.0f);
  EXPECT_EQ(1.0 - a, -0.5);
  EXPECT_TRUE(a > 1 && a < 1.75f && a == 1.5 && a != half(1.0f) && -a <= a);
  static_assert(std::is_same_v<decltype(a * a), half> && std::is_same_v<decltype(a * 1.0f), float>);
}

}  // namespace
}  // namespace tandem
