// SPDX-License-Identifier: Apache-2.0
//
// The kernel's own exponential and logarithm against the C library in double precision.
#include "attention_decode/numerics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tandem::attention_decode {
namespace {

TEST(Exponential, IsWithinAMillionthOverItsDomain) {
  double worst = 0;
  for (double x = 0; x > -87; x -= 1.0 / 4096) {
    const auto single = static_cast<float>(x);
    const double want = std::exp(static_cast<double>(single));
    worst = std::max(worst, std::fabs(exp_of(single) - want) / want);
  }
  EXPECT_LT(worst, 5e-7);
  EXPECT_EQ(exp_of(0.0f), 1.0f);
}

TEST(Exponential, VanishesBelowAndKeepsNan) {
  EXPECT_LT(exp_of(-1e30f), 1e-37f);
  EXPECT_LT(exp_of(-std::numeric_limits<float>::infinity()), 1e-37f);
  EXPECT_TRUE(std::isnan(exp_of(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Logarithm, IsWithinAMillionthOverItsDomain) {
  double worst = 0;
  for (double x = 1e-30; x < 1e30; x *= 1.0007) {
    const auto single = static_cast<float>(x);
    const double want = std::log(static_cast<double>(single));
    worst = std::max(worst, std::fabs(log_of(single) - want) / std::max(std::fabs(want), 1.0));
  }
  EXPECT_LT(worst, 5e-7);
  EXPECT_EQ(log_of(1.0f), 0.0f);
}

TEST(Logarithm, KeepsNanAndInfinity) {
  EXPECT_TRUE(std::isnan(log_of(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(log_of(std::numeric_limits<float>::infinity()), std::numeric_limits<float>::infinity());
}

TEST(LaneSum, AddsAllThirtyTwo) {
  float lanes[kChunk];
  for (int i = 0; i < kChunk; ++i) lanes[i] = static_cast<float>(1 << (i % 16)) * (i < 16 ? 1 : 2);
  EXPECT_EQ(sum_of_lanes(lanes), 3.0f * 65535.0f);
}

TEST(QuantisedByte, RoundsToNearestEvenWithSign) {
  for (int value = -127; value <= 127; ++value) {
    EXPECT_EQ(static_cast<std::int8_t>(quantised_byte(static_cast<float>(value) * 1.0f)), value);
  }
  EXPECT_EQ(static_cast<std::int8_t>(quantised_byte(2.5f)), 2);
  EXPECT_EQ(static_cast<std::int8_t>(quantised_byte(-3.5f)), -4);
  EXPECT_EQ(static_cast<std::int8_t>(quantised_byte(126.6f)), 127);
}

// As the half of a vendor's C simulation may be.
struct ConstructedHalf {
  ConstructedHalf() : bits(0) {}
  explicit ConstructedHalf(std::uint16_t value) : bits(value) {}
  std::uint16_t bits;
};

TEST(BitsOfANumber, CanBeReadWhateverItsConstructorsDo) {
  Bits16<ConstructedHalf> cast;
  EXPECT_EQ(cast.bits, 0);
  cast.value = ConstructedHalf(0x3c01);
  EXPECT_EQ(cast.bits, 0x3c01);
  cast.bits = 0x7bff;
  EXPECT_EQ(cast.value.bits, 0x7bff);
  EXPECT_EQ(float_to_half_bits(-2.0f), 0xc000);
  EXPECT_EQ(half_bits_to_float(0x3800), 0.5f);
}

}  // namespace
}  // namespace tandem::attention_decode
