// SPDX-License-Identifier: Apache-2.0
//
// ap_float against the formats that the compiler has: float, and half by our own header.
#include <ap_float.h>
#include <gtest/gtest.h>
#include <hls_half.h>
#include <hls_task.h>

#include <cstring>
#include <random>
#include <sstream>

namespace {

typedef ap_float<32, 8> Binary32;
typedef ap_float<16, 5> Binary16;
typedef ap_float<16, 8> BFloat16;

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

bool is_normal(float value) { return value == 0.0F || std::isnormal(value); }

TEST(ApFloat, HasTheBitsOfFloatInEveryOperation) {
  std::mt19937 random(1);
  int compared = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto draw = [&] {
      float value = 0;
      const std::uint32_t bits =
          (random() & 0x8fffffffU) + (i % 2 == 0 ? 0x3c000000U : 0x38000000U);
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    };
    const float a = draw(), b = draw();
    if (!std::isfinite(a) || !std::isfinite(b) || !is_normal(a) || !is_normal(b)) continue;
    const Binary32 x(a), y(b);
    ASSERT_EQ(x.to_bits().to_uint(), bits_of(a));
    ASSERT_EQ(bits_of(x.to_float()), bits_of(a));
    if (is_normal(a + b)) {
      ASSERT_EQ((x + y).to_bits().to_uint(), bits_of(a + b)) << a << ' ' << b;
    }
    if (is_normal(a - b)) {
      ASSERT_EQ((x - y).to_bits().to_uint(), bits_of(a - b)) << a << ' ' << b;
    }
    if (is_normal(a * b)) {
      ASSERT_EQ((x * y).to_bits().to_uint(), bits_of(a * b)) << a << ' ' << b;
    }
    if (b != 0 && is_normal(a / b)) {
      ASSERT_EQ((x / y).to_bits().to_uint(), bits_of(a / b)) << a << ' ' << b;
    }
    ASSERT_EQ(x < y, a < b);
    ASSERT_EQ(x == y, a == b);
    ++compared;
  }
  EXPECT_GT(compared, 50000);
}

TEST(ApFloat, RoundsTiesToEven) {
  typedef ap_float<20, 11> Short;  // 8 fraction bits
  const double last = std::ldexp(1.0, -8);
  const Short half_last = last / 2;
  EXPECT_EQ((Short(1.0) + half_last).to_double(), 1.0);
  EXPECT_EQ((Short(1.0 + last) + half_last).to_double(), 1.0 + 2 * last);
  EXPECT_EQ((Short(1.0) - half_last / Short(2)).to_double(), 1.0);
  EXPECT_EQ((Short(1.0 + last) * Short(1.5)).to_double(), 1.5 + 2 * last);
}

// A double drops what decides these ties.
TEST(ApFloat, RoundsOnceWhereADoubleRoundsBefore) {
  typedef ap_float<60, 8> Long;  // 51 fraction bits
  const double last = std::ldexp(1.0, -51);
  const Long half_last = last / 2;
  const Long above = last / 2 * (1 + last), below = last / 2 * (1 - last / 2);
  EXPECT_EQ((Long(1.0) + half_last - Long(1.0)).to_double(), 0.0);
  EXPECT_EQ((Long(1.0) + above - Long(1.0)).to_double(), last);
  EXPECT_EQ((-Long(1.0) - above + Long(1.0)).to_double(), -last);
  EXPECT_EQ((Long(1.0 + last) + half_last - Long(1.0)).to_double(), 2 * last);
  EXPECT_EQ((Long(1.0 + last) + below - Long(1.0)).to_double(), last);
  EXPECT_EQ((-Long(1.0 + last) - below + Long(1.0)).to_double(), -last);
  const ap_float<21, 11> products = 1.0 + std::ldexp(1.0, -9);
  EXPECT_EQ((products * products).to_double(), 1.0 + std::ldexp(1.0, -8));
  const Long whole(std::int64_t(1) << 54 | 5);  // its ties are at 4
  EXPECT_EQ(whole.to_double() - std::ldexp(1.0, 54), 8.0);
}

TEST(ApFloat, HasEveryNumberOfHalf) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const Binary16 value = Binary16::from_bits(ap_uint<16>(bits));
    const unsigned exponent = (bits >> 10) & 31U, fraction = bits & 1023U;
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(value.to_float()));
      EXPECT_FALSE(value == value);
    } else if (exponent == 0) {
      EXPECT_EQ(value.to_double(), 0.0);
      EXPECT_EQ(std::signbit(value.to_double()), bits >= 32768);
    } else {
      half other;
      const std::uint16_t raw = static_cast<std::uint16_t>(bits);
      std::memcpy(static_cast<void*>(&other), &raw, sizeof(raw));
      ASSERT_EQ(value.to_float(), float(other)) << bits;
      ASSERT_EQ(Binary16(value.to_double()).to_bits().to_uint(), bits);
    }
  }
}

TEST(ApFloat, OverflowsToInfinityAndUnderflowsToZero) {
  EXPECT_EQ(Binary16(65519.0).to_double(), 65504.0);
  EXPECT_TRUE(std::isinf(Binary16(65520.0).to_double()));
  EXPECT_TRUE(std::isinf((-Binary16(60000) * Binary16(2)).to_double()));
  EXPECT_LT((-Binary16(60000) * Binary16(2)).to_double(), 0);
  EXPECT_EQ(Binary16(std::ldexp(1.0, -14)).to_double(), std::ldexp(1.0, -14));
  EXPECT_EQ(Binary16(std::ldexp(1.0, -15)).to_double(), 0.0);
  EXPECT_EQ(Binary16(std::ldexp(1.5, -15)).to_bits().to_uint(), 0U);
  EXPECT_TRUE(std::isnan((Binary16(0) / Binary16(0)).to_double()));
  EXPECT_TRUE(std::isinf((Binary16(1) / Binary16(0)).to_double()));
  EXPECT_EQ((Binary16(1) / (Binary16(1) / Binary16(0))).to_double(), 0.0);
}

TEST(ApFloat, ConvertsFromAndToOtherTypes) {
  BFloat16 value = 3;
  value += 0.5F;
  value *= 2;
  value -= BFloat16(1);
  value /= 4;
  EXPECT_EQ(static_cast<float>(value), 1.5F);
  EXPECT_EQ(static_cast<int>(BFloat16(-7.75F)), -7);
  EXPECT_EQ(BFloat16(1.00390625F).to_double(), 1.0);  // a tie
  EXPECT_EQ(Binary16(BFloat16(2.5F)).to_double(), 2.5);
  EXPECT_EQ(Binary16(ap_fixed<8, 4>(-1.25)).to_double(), -1.25);
  EXPECT_GT(value, 1);
  EXPECT_NE(value, 1);
  EXPECT_GE(value, 1.5F);
  EXPECT_LE(value, 1.5);
  std::ostringstream text;
  text << value;
  EXPECT_EQ(text.str(), "1.5");
  EXPECT_EQ(Binary16::exponent_width + Binary16::fraction_width + 1, Binary16::width);
}

TEST(ApFloat, AccumulatesInFixedPointAndBeginsAgain) {
  ap_float_acc<ap_float<18, 5>, ap_fixed<32, 16>> sum;
  for (int round = 0; round < 2; ++round) {
    ap_float<18, 5> result;
    for (int i = 1; i <= 1000; ++i) result = sum.accumulate(i / 1024.0F, i == 1000);
    EXPECT_EQ(result.to_double(), 488.75);  // 488.7695 in 12 fraction bits of 2^8
  }
}

void count_calls(int* calls, int step) { *calls += step; }

TEST(HlsAutorestart, CallsItsFunctionThatOften) {
  int calls = 0;
  const hls::autorestart three(3, count_calls, &calls, 10);
  EXPECT_EQ(calls, 30);
}

}  // namespace
