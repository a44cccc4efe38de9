// SPDX-License-Identifier: Apache-2.0
//
// ap_fixed and ap_ufixed against the definitions of the modes in 128-bit integers: small widths
// exhaustively in all modes, wide ones at random.
#include "ap_fixed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iomanip>
#include <random>
#include <sstream>
#include <type_traits>
#include <utility>
#include <vector>

namespace tandem {
namespace {

typedef __int128 Big;

struct Target {
  int width, fraction;
  bool is_signed;
  ap_q_mode q;
  ap_o_mode o;
  int n;
};

// value / 2^drop to a neighbour that is a whole number, as the mode's definition says.
Big quantise(Big value, int drop, ap_q_mode mode) {
  if (drop <= 0) return value * (Big(1) << -drop);
  const Big unit = Big(1) << drop;
  Big below = value / unit;
  if (below * unit > value) --below;
  if (below * unit == value) return below;
  const Big above = below + 1, to_below = value - below * unit, to_above = above * unit - value;
  const Big to_zero = value < 0 ? above : below, from_zero = value < 0 ? below : above;
  if (mode == AP_TRN) return below;
  if (mode == AP_TRN_ZERO) return to_zero;
  if (to_below != to_above) return to_below < to_above ? below : above;
  switch (mode) {
    case AP_RND:
      return above;
    case AP_RND_MIN_INF:
      return below;
    case AP_RND_ZERO:
      return to_zero;
    case AP_RND_INF:
      return from_zero;
    default:
      return below % 2 == 0 ? below : above;
  }
}

// The number that `width` bits of `value` mean.
Big wrap(Big value, int width, bool is_signed) {
  const Big modulus = Big(1) << width;
  Big low = value % modulus;
  if (low < 0) low += modulus;
  return is_signed && low >= modulus / 2 ? low - modulus : low;
}

bool bit(Big value, int at) { return ((value >> at) & 1) != 0; }

// Sign and magnitude wrapping by the guide's steps, on the bits, lowest first.
Big wrap_by_sign(Big value, const Target& to) {
  std::vector<bool> bits;
  for (int at = 0; at < to.width; ++at) bits.push_back(bit(value, at));
  const bool sign = to.n == 0 ? bit(value, to.width) : value < 0;
  const bool differs = to.n <= 1 ? bits.back() != sign : bits[to.width - to.n] == sign;
  if (differs) bits.flip();
  for (int at = to.width - to.n; at < to.width; ++at) bits[at] = !sign;
  bits.back() = sign;
  Big result = 0;
  for (int at = 0; at < to.width; ++at) result += bits[at] ? Big(1) << at : 0;
  return wrap(result, to.width, true);
}

Big overflow(Big value, const Target& to) {
  const Big high = (Big(1) << (to.is_signed ? to.width - 1 : to.width)) - 1;
  const Big low = to.is_signed ? -high - 1 : 0;
  const Big lowest = to.o == AP_SAT_SYM && to.is_signed ? -high : low;
  if (value >= lowest && value <= high) return value;
  if (to.o == AP_SAT_ZERO) return 0;
  if (to.o == AP_SAT || to.o == AP_SAT_SYM) return value > high ? high : lowest;
  if (to.o == AP_WRAP_SM && to.is_signed) return wrap_by_sign(value, to);
  // The sign stays, the other saturated bits go to the far end, the rest is copied.
  const int kept = to.width - to.n;
  const Big rest = wrap(value, kept, false);
  if (to.n == 0) return wrap(value, to.width, to.is_signed);
  if (!to.is_signed) return rest + (high + 1) - (Big(1) << kept);
  const Big ones = (Big(1) << (to.width - 1)) - (Big(1) << kept);
  return value < 0 ? low + rest : rest + ones;
}

template <typename D>
Big big(const D& number) {
  const auto bits = static_cast<unsigned __int128>(number.bits().low128());
  return static_cast<Big>(bits);
}

void expect_bits(Big got, Big want, int value, const Target& to, const char* from) {
  if (got == want) return;
  ADD_FAILURE() << value << "/32 from " << from << " to " << to.width << " bits with "
                << to.fraction << " after the point, signed " << to.is_signed << ", mode " << to.q
                << ", overflow " << to.o << ", n " << to.n << ": " << static_cast<long>(got)
                << ", not " << static_cast<long>(want);
}

template <int W, int I, bool S, ap_q_mode Q, ap_o_mode O, int N>
void check_all() {
  typedef ap_fixed_base<W, I, S, Q, O, N> Fixed;
  const Target to = {W, W - I, S, Q, O, N};
  for (int value = -512; value < 512; ++value) {
    ap_fixed<10, 5> source;
    source.bits() = value;
    const Big want = overflow(quantise(value, 5 - (W - I), Q), to);
    expect_bits(big(Fixed(source)), want, value, to, "a fixed-point number");
    expect_bits(big(Fixed(value / 32.0)), want, value, to, "a double");
    expect_bits(big(Fixed(value / 32.0L)), want, value, to, "a long double");
  }
}

template <int W, int I, bool S, ap_q_mode Q>
void check_overflows() {
  check_all<W, I, S, Q, AP_SAT, 0>();
  check_all<W, I, S, Q, AP_SAT_ZERO, 0>();
  check_all<W, I, S, Q, AP_SAT_SYM, 0>();
  check_all<W, I, S, Q, AP_WRAP, 0>();
  check_all<W, I, S, Q, AP_WRAP_SM, 0>();
}
template <int W, int I, bool S>
void check_modes() {
  check_overflows<W, I, S, AP_RND>();
  check_overflows<W, I, S, AP_RND_ZERO>();
  check_overflows<W, I, S, AP_RND_MIN_INF>();
  check_overflows<W, I, S, AP_RND_INF>();
  check_overflows<W, I, S, AP_RND_CONV>();
  check_overflows<W, I, S, AP_TRN>();
  check_overflows<W, I, S, AP_TRN_ZERO>();
}

TEST(ApFixed, QuantisesAndBoundsEverySmallSignedNumberInEveryMode) { check_modes<4, 2, true>(); }
TEST(ApFixed, QuantisesAndBoundsEverySmallUnsignedNumberInEveryMode) { check_modes<5, 3, false>(); }
TEST(ApFixed, HasItsPointOutsideItsBits) {
  check_all<3, -1, true, AP_RND_CONV, AP_SAT, 0>();
  check_all<3, -1, false, AP_RND, AP_WRAP, 0>();
  check_all<3, 5, true, AP_RND_INF, AP_SAT_SYM, 0>();
  check_all<2, 4, false, AP_TRN_ZERO, AP_SAT, 0>();
}
TEST(ApFixed, WrapsWithSaturatedBits) {
  check_all<4, 3, true, AP_TRN, AP_WRAP, 1>();
  check_all<4, 3, true, AP_TRN, AP_WRAP, 2>();
  check_all<4, 3, true, AP_RND, AP_WRAP, 3>();
  check_all<4, 3, false, AP_TRN, AP_WRAP, 1>();
  check_all<4, 3, false, AP_TRN, AP_WRAP, 3>();
  check_all<4, 3, true, AP_TRN, AP_WRAP_SM, 1>();
  check_all<4, 3, true, AP_TRN, AP_WRAP_SM, 2>();
  check_all<4, 3, true, AP_RND, AP_WRAP_SM, 3>();
}

// The guide's own examples.
TEST(ApFixed, YieldsWhatTheGuideSays) {
  EXPECT_EQ((ap_fixed<3, 2, AP_RND, AP_SAT>(1.25)), 1.5);
  EXPECT_EQ((ap_fixed<3, 2, AP_RND, AP_SAT>(-1.25)), -1.0);
  EXPECT_EQ((ap_fixed<3, 2, AP_RND_ZERO, AP_SAT>(-1.25)), -1.0);
  EXPECT_EQ((ap_fixed<3, 2, AP_RND_MIN_INF, AP_SAT>(-1.25)), -1.5);
  EXPECT_EQ((ap_fixed<3, 2, AP_RND_INF, AP_SAT>(-1.25)), -1.5);
  EXPECT_EQ((ap_fixed<3, 2, AP_RND_CONV, AP_SAT>(0.75)), 1.0);
  EXPECT_EQ((ap_fixed<3, 2, AP_RND_CONV, AP_SAT>(-1.25)), -1.0);
  EXPECT_EQ((ap_fixed<3, 2, AP_TRN, AP_SAT>(-1.25)), -1.5);
  EXPECT_EQ((ap_fixed<3, 2, AP_TRN_ZERO, AP_SAT>(-1.25)), -1.0);
  EXPECT_EQ((ap_fixed<4, 4, AP_RND, AP_SAT>(-19.0)), -8);
  EXPECT_EQ((ap_fixed<4, 4, AP_RND, AP_SAT_SYM>(-19.0)), -7);
  EXPECT_EQ((ap_ufixed<4, 4, AP_RND, AP_SAT_ZERO>(19.0)), 0);
  EXPECT_EQ((ap_fixed<4, 4, AP_RND, AP_WRAP>(31.0)), -1);
  EXPECT_EQ((ap_ufixed<4, 4, AP_RND, AP_WRAP>(-19.0)), 13);
  EXPECT_EQ((ap_fixed<4, 4, AP_RND, AP_WRAP_SM>(19.0)), -4);
  EXPECT_EQ((ap_fixed<4, 4, AP_RND, AP_WRAP_SM>(-19.0)), 2);
}

template <typename Fixed>
Fixed random_fixed(std::mt19937_64& random) {
  Fixed number(0);
  for (int at = 0; at < Fixed::width; at += 32) {
    number.bits().put(at, std::min(32, Fixed::width - at), random());
  }
  if (random() % 2 == 0) number >>= static_cast<int>(random() % Fixed::width);
  return number;
}

template <typename To, typename From>
void check_conversion(std::mt19937_64& random, int n) {
  const Target to = {To::width, To::kFraction, To::is_signed, To::qmode, To::omode, n};
  for (int i = 0; i < 3000; ++i) {
    const From from = random_fixed<From>(random);
    const Big want = overflow(quantise(big(from), From::kFraction - To::kFraction, to.q), to);
    ASSERT_TRUE(big(To(from)) == want) << from.to_string() << " to " << To(from).to_string();
  }
}

TEST(ApFixed, ConvertsWideNumbers) {
  std::mt19937_64 random(1);
  check_conversion<ap_fixed<70, 40, AP_RND_CONV, AP_SAT>, ap_fixed<110, 55>>(random, 0);
  check_conversion<ap_fixed<33, 20, AP_RND_INF, AP_SAT_SYM>, ap_fixed<64, 32>>(random, 0);
  check_conversion<ap_ufixed<64, 32, AP_RND, AP_SAT>, ap_ufixed<90, 40>>(random, 0);
  check_conversion<ap_fixed<100, 50, AP_TRN_ZERO, AP_WRAP>, ap_fixed<60, 50>>(random, 0);
  check_conversion<ap_fixed<40, 20, AP_RND_ZERO, AP_WRAP_SM>, ap_fixed<80, 40>>(random, 0);
  check_conversion<ap_fixed<40, 20, AP_RND, AP_WRAP, 3>, ap_fixed<80, 40>>(random, 3);
}

// In units of the product's and the sum's last bit.
template <typename A, typename B>
void check_arithmetic(std::mt19937_64& random) {
  const int fraction = std::max(A::kFraction, B::kFraction);
  const int width = fraction + std::max(A::width - A::kFraction, B::width - B::kFraction);
  for (int i = 0; i < 3000; ++i) {
    const A a = random_fixed<A>(random);
    const B b = random_fixed<B>(random);
    const Big x = big(a) * (Big(1) << (fraction - A::kFraction));
    const Big y = big(b) * (Big(1) << (fraction - B::kFraction));
    ASSERT_TRUE(big(a + b) == x + y);
    ASSERT_TRUE(big(a - b) == x - y);
    ASSERT_TRUE(big(a * b) == big(a) * big(b));
    // Of wide numbers with and without a sign, a negative one is converted: ap_compare_test.
    const bool converts = A::is_signed != B::is_signed && width >= 32 && (x < 0 || y < 0);
    if (!converts) {
      ASSERT_EQ(a < b, x < y);
      ASSERT_EQ(a == b, x == y);
      ASSERT_EQ(a >= b, x >= y);
    }
    if (big(b) != 0) {
      ASSERT_TRUE(big(a / b) == big(a) * (Big(1) << std::max(B::kFraction, 0)) / big(b));
    }
    const auto both = a & b;
    ASSERT_TRUE(big(both) == wrap(x & y, both.width, both.is_signed));
  }
}

TEST(ApFixed, ComputesExactly) {
  std::mt19937_64 random(2);
  check_arithmetic<ap_fixed<16, 8>, ap_fixed<20, 4>>(random);
  check_arithmetic<ap_ufixed<16, 8>, ap_fixed<12, 14>>(random);
  check_arithmetic<ap_fixed<30, -2>, ap_ufixed<25, 25>>(random);
  check_arithmetic<ap_fixed<60, 30>, ap_fixed<40, 20>>(random);
}

TEST(ApFixed, ResultsHaveTheDocumentedTypes) {
  const ap_fixed<16, 8> a = 1;
  const ap_ufixed<12, 10> b = 1;
  static_assert(std::is_same<decltype(a + a), ap_fixed_base<17, 9, true>>::value, "");
  static_assert(std::is_same<decltype(a + b), ap_fixed_base<20, 12, true>>::value, "");
  static_assert(std::is_same<decltype(b - b), ap_fixed_base<13, 11, true>>::value, "");
  static_assert(std::is_same<decltype(b + b), ap_fixed_base<13, 11, false>>::value, "");
  static_assert(std::is_same<decltype(a * b), ap_fixed_base<28, 18, true>>::value, "");
  static_assert(std::is_same<decltype(a / b), ap_fixed_base<18, 10, true>>::value, "");
  static_assert(std::is_same<decltype(b / a), ap_fixed_base<21, 19, true>>::value, "");
  static_assert(std::is_same<decltype(a + 1), ap_fixed_base<41, 33, true>>::value, "");
  static_assert(std::is_same<decltype(a * ap_uint<3>(1)), ap_fixed_base<19, 11, true>>::value, "");
  static_assert(std::is_same<decltype(a & b), ap_fixed_base<19, 11, true>>::value, "");
  static_assert(std::is_same<decltype(-b), ap_fixed_base<13, 11, true>>::value, "");
  static_assert(std::is_same<decltype(a << 3), ap_fixed_base<16, 8, true>>::value, "");
  static_assert(std::is_same<decltype(a * 0.5), double>::value, "");
  EXPECT_EQ(a / b, 1);
}

TEST(ApFixed, MixesWithIntegersAndRealNumbers) {
  ap_fixed<16, 8> a = -2.75;
  EXPECT_EQ(a + 1, -1.75);
  EXPECT_EQ(2 * a, -5.5);
  EXPECT_EQ(a * ap_uint<4>(3), -8.25);
  EXPECT_EQ(ap_int<5>(-1) - a, 1.75);
  EXPECT_TRUE(a < 0 && a < -2.5 && ap_int<9>(-3) < a && -2 > a);
  EXPECT_EQ(static_cast<int>(a), -2);
  EXPECT_EQ(ap_int<8>(a), -2);
  EXPECT_EQ(a.to_int(), -2);
  EXPECT_EQ(static_cast<float>(a), -2.75f);
  EXPECT_EQ(a * 0.5f, -1.375f);
  a += 1;
  a *= 2;
  a -= 0.5;
  a /= ap_fixed<8, 4>(2);
  EXPECT_EQ(a, -2);
  EXPECT_EQ(a++, -2);
  EXPECT_EQ(--a, -2);
  const int index = a * -3;
  EXPECT_EQ(index, 6);
  ap_fixed<8, 8> whole = ap_uint<12>(0xFFF);
  EXPECT_EQ(whole, -1);
}

template <typename A, typename B>
auto has_rest(int) -> decltype(std::declval<A>() % std::declval<B>(), std::true_type());
template <typename A, typename B>
std::false_type has_rest(...);

// The table of an embedding, read at a number of the network.
TEST(ApFixed, IsAnIndexAndAnOffset) {
  const int table[] = {10, 11, 12, 13, 14, 15, 16, 17};
  const ap_fixed<16, 6> at = 2.75, back = -1.75;
  EXPECT_EQ(table[at], 12);
  EXPECT_EQ(table[at * 2U + 1], 16);
  EXPECT_EQ(*(table + at), 12);
  EXPECT_EQ((table + 3)[back], 12);
  // There is no operator for rests, and that of integers does not take its place.
  static_assert(!decltype(has_rest<ap_fixed<16, 6>, int>(0))::value, "cuts the fraction off");
}

TEST(ApFixed, ShiftsLoseWhatLeaves) {
  const ap_fixed<8, 4> a = 2.8125;
  EXPECT_EQ(a << 1, 5.625);
  EXPECT_EQ(a << 2, -4.75);
  EXPECT_EQ(a >> 3, 0.3125);
  EXPECT_EQ(a >> -1, a << 1);
  EXPECT_EQ(a << ap_uint<3>(1), 5.625);
}

TEST(ApFixed, ItsBitsAreNumbersAndPlaces) {
  ap_fixed<8, 4> a = 0;
  a[7] = 1;
  EXPECT_EQ(a, -8);
  a.range(3, 0) = 8;
  EXPECT_EQ(a, -7.5);
  EXPECT_EQ(a.range(7, 4), 8);
  EXPECT_EQ(a(4, 3), 1);
  a.range() = ap_uint<8>(0x18);
  EXPECT_EQ(a, 1.5);
  const ap_uint<8> raw = a.range();
  EXPECT_EQ(raw, 0x18);
  EXPECT_EQ(a.length(), 8);
  EXPECT_TRUE(a[3] && !a[0]);
  ap_ufixed<24, 8> wide = 128.5;
  EXPECT_EQ(wide.range(23, 0) << 4, 0x8080000);
  EXPECT_EQ(wide.range(23, 0) << ap_uint<6>(40), 0x8080000000000000ull);
  wide.range(23, 16) = wide.range(22, 15);
  EXPECT_EQ(wide, 1.5);
}

TEST(ApFixed, ItsRangesTakeTheBitsOfOtherNumbers) {
  const ap_fixed<16, 8> f = 3.5;
  ap_fixed<32, 16> g = 0;
  g.range(15, 0) = f;
  EXPECT_EQ(g.range(31, 0), 0x380);
  g(31, 16) = f;
  EXPECT_EQ(g.range(31, 0), 0x3800380);
}

TEST(ApFixed, ReadsAndPrintsText) {
  const ap_fixed<8, 4> a = -1.75;
  EXPECT_EQ(a.to_string(), "0b1110.0100");
  EXPECT_EQ(a.to_string(10), "-1.75");
  EXPECT_EQ((ap_fixed<12, -2>("0x0.0A8").to_string(10)), "0.041015625");
  EXPECT_EQ((ap_ufixed<6, 8>(100).to_string(10)), "100");
  EXPECT_EQ((ap_fixed<8, 4>("0b1.01")), 1.25);
  EXPECT_EQ((ap_fixed<8, 4>("-1.75")), -1.75);
  EXPECT_EQ((ap_fixed<8, 4>("1.1", 2)), 1.5);
  EXPECT_THROW((ap_fixed<8, 4>("1.2.3")), std::invalid_argument);
  EXPECT_THROW((ap_fixed<8, 4>("0b12")), std::invalid_argument);
  EXPECT_THROW((ap_fixed<8, 4>("")), std::invalid_argument);
  std::ostringstream out;
  out << a << " " << (ap_ufixed<40, 1>(0.1));
  EXPECT_EQ(out.str(), "-1.75 0.1");
  out.str("");
  out << std::fixed << std::showpoint << std::setprecision(15) << std::setw(8) << a << ","
      << ap_fixed<8, 4>(3) << "," << ap_fixed<20, 4>(0.53125) << "," << 0.5;
  EXPECT_EQ(out.str(), "   -1.75,3,0.53125,0.500000000000000");
  std::istringstream in("2.5");
  ap_fixed<8, 4> b;
  in >> b;
  EXPECT_EQ(b, 2.5);
}

// Golden files of test benches have these texts.
TEST(ApFixed, PrintsHalfwayNumbersAwayFromZero) {
  std::ostringstream out;
  out << ap_fixed<16, 6>(0.0009765625) << " " << ap_fixed<16, 6>(-0.0009765625) << " "
      << ap_fixed<40, 2>(0.0009765625 + 0x1p-36) << std::setprecision(1) << " "
      << ap_fixed<8, 4>(2.5) << " " << ap_fixed<60, 2>(0.15) << " " << ap_fixed<8, 4>(2.75)
      << std::setprecision(0) << " " << ap_ufixed<8, 4>(4.5);
  EXPECT_EQ(out.str(), "0.000976563 -0.000976563 0.000976563 3 0.1 3 5");
}

TEST(ApFixed, PrintsNumbersThatNoDoubleHolds) {
  const ap_ufixed<1100, 1100> large = ap_ufixed<1100, 1100>(1) << 1090;
  EXPECT_EQ((std::ostringstream() << large).str(), "inf");
}

TEST(ApFixed, TakesRealNumbersFarOutOfRange) {
  typedef ap_fixed<8, 4, AP_RND, AP_SAT> Saturating;
  EXPECT_EQ(Saturating(1e300), 7.9375);
  EXPECT_EQ(Saturating(-HUGE_VAL), -8);
  EXPECT_EQ(Saturating(1e-300), 0);
  EXPECT_EQ((ap_fixed<8, 4, AP_RND_INF>(1e-300)), 0);
  EXPECT_EQ((ap_ufixed<8, 4, AP_TRN_ZERO>(-1e-300)), 0);
  EXPECT_EQ((ap_fixed<8, 4>(-1e-300)), -0.0625);
  EXPECT_EQ(Saturating(std::nan("")), 0);
  EXPECT_EQ((ap_fixed<200, 100>(0x1p90 + 0x1p40).to_double()), 0x1p90 + 0x1p40);
  EXPECT_EQ((ap_fixed<8, 4>(0x1p60 + 0x1p8)), 0);
  EXPECT_EQ((std::numeric_limits<ap_fixed<8, 4>>::max()), 7.9375);
  EXPECT_EQ((std::numeric_limits<ap_ufixed<8, 4>>::epsilon()), 0.0625);
}

}  // namespace
}  // namespace tandem
