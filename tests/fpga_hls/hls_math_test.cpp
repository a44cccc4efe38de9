// SPDX-License-Identifier: Apache-2.0
//
// hls_math.h: half functions against long double rounded once, fixed-point functions against the
// real function to half a last bit, and the names the guide lists.
#include "hls_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tandem {
namespace {

// Every finite half, and the function's exact value rounded to half; `slack` in last bits is for
// values that long double puts on a tie.
template <typename Function, typename Reference>
void check_half(Function function, Reference reference) {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const half x = half::from_bits(static_cast<std::uint16_t>(bits));
    const half got = function(x);
    const half want = half(static_cast<double>(reference(static_cast<long double>(float(x)))));
    const bool same = got.get_bits() == want.get_bits() || (hls::isnan(got) && hls::isnan(want));
    wrong += same ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(HlsMath, RoundsHalfFunctionsOnce) {
  check_half([](half x) { return hls::sqrt(x); }, [](long double x) { return std::sqrt(x); });
  check_half([](half x) { return hls::half_exp(x); }, [](long double x) { return std::exp(x); });
  check_half([](half x) { return hls::log(x); }, [](long double x) { return std::log(x); });
  check_half([](half x) { return hls::sin(x); }, [](long double x) { return std::sin(x); });
  check_half([](half x) { return hls::half_recip(x); }, [](long double x) { return 1 / x; });
  check_half([](half x) { return hls::rsqrt(x); }, [](long double x) { return 1 / std::sqrt(x); });
  check_half([](half x) { return hls::round(x); }, [](long double x) { return std::round(x); });
  check_half([](half x) { return hls::fabs(x); }, [](long double x) { return std::fabs(x); });
}

TEST(HlsMath, GivesFloatAndDoubleWhatTheCLibraryGives) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> any(-5, 5);
  for (int i = 0; i < 1000; ++i) {
    const double x = any(random), y = any(random);
    const float f = static_cast<float>(x);
    ASSERT_EQ(hls::sin(x), std::sin(x));
    ASSERT_EQ(hls::sinf(f), std::sin(f));
    ASSERT_EQ(hls::exp(f), std::exp(f));
    ASSERT_EQ(hls::atan2(x, y), std::atan2(x, y));
    ASSERT_EQ(hls::pow(std::fabs(x), y), std::pow(std::fabs(x), y));
    ASSERT_EQ(hls::floor(f), std::floor(f));
    ASSERT_EQ(hls::fmod(x, y), std::fmod(x, y));
    ASSERT_NEAR(hls::exp10(x), std::pow(10.0, x), 1e-9 * std::pow(10.0, x));
    ASSERT_NEAR(hls::sinpi(x), std::sin(M_PI * x), 1e-14);
    ASSERT_NEAR(hls::cospi(x), std::cos(M_PI * x), 1e-14);
    ASSERT_NEAR(hls::rsqrt(std::fabs(x)), 1 / std::sqrt(std::fabs(x)), 1e-15 / std::fabs(x));
  }
  static_assert(std::is_same<decltype(hls::sqrt(1.0f)), float>::value, "");
  static_assert(std::is_same<decltype(hls::sqrt(half(1.0f))), half>::value, "");
}

TEST(HlsMath, IsExactWhereTheGuideLeavesNoChoice) {
  EXPECT_EQ(hls::sinpi(1.0), 0);
  EXPECT_EQ(hls::cospi(0.5f), 0);
  EXPECT_EQ(hls::cospi(-3.0), -1);
  EXPECT_EQ(hls::recip(4.0f), 0.25f);
  EXPECT_EQ(hls::fract(-1.25), 0.75);
  EXPECT_EQ(hls::maxmag(-3.0, 2.0), -3.0);
  EXPECT_EQ(hls::minmag(-3.0f, 2.0f), 2.0f);
  EXPECT_EQ(hls::mad(2.0f, 3.0f, 4.0f), 10.0f);
  EXPECT_EQ(hls::abs(-3), 3);
  EXPECT_EQ(hls::max(3, 7), 7);
  EXPECT_EQ(hls::min(half(3.0f), half(1.0f)), half(1.0f));
  EXPECT_EQ(hls::pown(2.0f, -2), 0.25f);
  EXPECT_EQ(hls::rootn(-27.0, 3), -3.0);
  EXPECT_TRUE(std::isnan(hls::powr(-1.0, 2.0)));
}

TEST(HlsMath, TakesNumbersApart) {
  int exponent = 0;
  EXPECT_EQ(hls::frexp(half(6.0f), &exponent), half(0.75f));
  EXPECT_EQ(exponent, 3);
  EXPECT_EQ(hls::ldexp(half(0.75f), 3), half(6.0f));
  half whole;
  EXPECT_EQ(hls::modf(half(-2.5f), &whole), half(-0.5f));
  EXPECT_EQ(whole, half(-2.0f));
  double part;
  EXPECT_EQ(hls::modf(2.75, &part), 0.75);
  float sine, cosine;
  hls::sincos(0.5f, &sine, &cosine);
  EXPECT_EQ(sine, std::sin(0.5f));
  EXPECT_EQ(cosine, std::cos(0.5f));
  EXPECT_EQ(hls::ilogb(half(9.0f)), 3);
  EXPECT_EQ(hls::lround(half(2.5f)), 3);
  EXPECT_EQ(hls::nextafter(half(1.0f), half(2.0f)), half(1.0f + 0x1p-10f));
  EXPECT_EQ(hls::nextafter(half(0.0f), half(-1.0f)).get_bits(), 0x8001);
}

TEST(HlsMath, ClassifiesHalves) {
  const half infinite = std::numeric_limits<half>::infinity();
  EXPECT_TRUE(hls::isinf(infinite) && hls::isnan(infinite - infinite));
  EXPECT_TRUE(hls::isfinite(std::numeric_limits<half>::max()) && hls::signbit(half(-0.0f)));
  EXPECT_EQ(hls::fpclassify(std::numeric_limits<half>::denorm_min()), FP_SUBNORMAL);
  EXPECT_FALSE(hls::isnormal(half(0.0f)));
  EXPECT_TRUE(hls::isgreater(half(2.0f), half(1.0f)) && !hls::isless(half(2.0f), half(1.0f)));
  EXPECT_EQ(std::numeric_limits<half>::max(), 65504.0f);
  EXPECT_EQ(1.5_h + 2_h, half(3.5f));
}

typedef ap_fixed<24, 8> Fixed;

template <typename Function, typename Reference>
void check_fixed(Function function, Reference reference, double low, double high) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> any(low, high);
  for (int i = 0; i < 500; ++i) {
    const Fixed x = any(random);
    const auto got = function(x);
    const double bit = std::ldexp(1.0, -got.kFraction);
    ASSERT_NEAR(got.to_double(), reference(x.to_double()), bit * 0.5000001) << x;
  }
}

TEST(HlsMath, ComputesFixedPointNumbersToTheLastBit) {
  check_fixed([](Fixed x) { return hls::sin(x); }, [](double x) { return std::sin(x); }, -100, 100);
  check_fixed([](Fixed x) { return hls::cos(x); }, [](double x) { return std::cos(x); }, -100, 100);
  check_fixed([](Fixed x) { return hls::exp(x); }, [](double x) { return std::exp(x); }, -9, 4.8);
  check_fixed([](Fixed x) { return hls::log(x); }, [](double x) { return std::log(x); }, 0.01, 99);
  check_fixed([](Fixed x) { return hls::tanh(x); }, [](double x) { return std::tanh(x); }, -9, 9);
  check_fixed([](Fixed x) { return hls::atan(x); }, [](double x) { return std::atan(x); }, -9, 9);
  check_fixed([](Fixed x) { return hls::recip(x); }, [](double x) { return 1 / x; }, 0.1, 99);
  check_fixed([](Fixed x) { return hls::abs(x); }, [](double x) { return std::fabs(x); }, -9, 9);
  check_fixed([](Fixed x) { return hls::floor(x); }, [](double x) { return std::floor(x); }, -9, 9);
}

TEST(HlsMath, FixedPointResultsHaveTheArgumentsShape) {
  static_assert(std::is_same<decltype(hls::exp(Fixed())), Fixed>::value, "");
  static_assert(std::is_same<decltype(hls::sqrt(Fixed())), Fixed>::value, "");
  static_assert(std::is_same<decltype(hls::sqrt(ap_ufixed<9, 3>())), ap_ufixed<9, 3>>::value, "");
  static_assert(std::is_same<decltype(hls::sqrt(ap_uint<9>())), ap_uint<9>>::value, "");
  static_assert(std::is_same<decltype(hls::log(ap_ufixed<9, 3>())), ap_fixed<10, 4>>::value, "");
  EXPECT_EQ(hls::exp(Fixed(100)), std::numeric_limits<Fixed>::max());
  EXPECT_EQ(hls::pow(Fixed(1.5), 2), 2.25);
  EXPECT_EQ(hls::pow(Fixed(4), Fixed(0.5)), 2);
  EXPECT_EQ(hls::atan2(Fixed(0), Fixed(1)), 0);
  EXPECT_EQ(hls::fmax(Fixed(1), Fixed(-2)), 1);
  EXPECT_TRUE(hls::signbit(Fixed(-1)));
}

// The largest number whose square is not above.
TEST(HlsMath, CutsSquareRootsExactly) {
  for (int value = 0; value < 4096; ++value) {
    ap_ufixed<12, 7> x;
    x.bits() = value;
    const auto root = hls::sqrt(x);
    ap_ufixed<13, 8> next = root;
    next.bits() += 1;
    ASSERT_TRUE(root * root <= x && next * next > x) << x << " " << root;
    const ap_uint<12> whole = hls::sqrt(ap_uint<12>(value));
    ASSERT_EQ(whole, static_cast<int>(std::sqrt(value)));
  }
  EXPECT_EQ(hls::sqrt(ap_uint<100>(ap_uint<100>(1) << 98)), ap_uint<100>(1) << 49);
}

}  // namespace
}  // namespace tandem
