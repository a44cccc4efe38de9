// SPDX-License-Identifier: Apache-2.0
//
// ap_int and ap_uint: small widths exhaustively against native arithmetic, wide ones at random
// against 128-bit integers and algebra, and the documented forms of every operation.
#include "ap_int.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>

namespace tandem {
namespace {

typedef __int128 Big;

// What W bits of `value` mean.
template <int W, bool S>
Big wrap(Big value) {
  const Big modulus = Big(1) << W;
  Big low = value % modulus;
  if (low < 0) low += modulus;
  return S && low >= modulus / 2 ? low - modulus : low;
}

template <int W, bool S>
Big big(const ap_int_base<W, S>& value) {
  const auto low = static_cast<unsigned __int128>(value.limb(0));
  return static_cast<Big>(low | static_cast<unsigned __int128>(value.limb(1)) << 64);
}

template <typename A, typename B>
void check_pair(const A& a, const B& b) {
  const Big x = big(a), y = big(b);
  ASSERT_TRUE(big(a + b) == x + y);
  ASSERT_TRUE(big(a - b) == x - y);
  ASSERT_TRUE(big(a * b) == x * y);
  if (y != 0) {
    ASSERT_TRUE(big(a / b) == x / y);
    ASSERT_TRUE(big(a % b) == x % y);
  }
  typedef decltype(a & b) Logic;
  ASSERT_TRUE(big(a & b) == (wrap<Logic::width, Logic::is_signed>(x & y)));
  ASSERT_TRUE(big(a | b) == (wrap<Logic::width, Logic::is_signed>(x | y)));
  ASSERT_TRUE(big(a ^ b) == (wrap<Logic::width, Logic::is_signed>(x ^ y)));
  // Of wide numbers with and without a sign, a negative one is converted: ap_compare_test.
  constexpr bool kConverts = A::is_signed != B::is_signed && std::max(A::width, B::width) >= 32;
  if (kConverts && (x < 0 || y < 0)) return;
  ASSERT_EQ(a == b, x == y);
  ASSERT_EQ(a != b, x != y);
  ASSERT_EQ(a < b, x < y);
  ASSERT_EQ(a <= b, x <= y);
  ASSERT_EQ(a > b, x > y);
  ASSERT_EQ(a >= b, x >= y);
}

template <typename A, typename B>
void check_all_pairs() {
  for (int i = 0; i < 1 << A::width; ++i) {
    for (int j = 0; j < 1 << B::width; ++j) {
      check_pair(A(i), B(j));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(ApInt, GivesExactResultsForAllSmallNumbers) {
  check_all_pairs<ap_int<5>, ap_int<5>>();
  check_all_pairs<ap_uint<5>, ap_uint<5>>();
  check_all_pairs<ap_int<6>, ap_uint<4>>();
  check_all_pairs<ap_uint<6>, ap_int<3>>();
  check_all_pairs<ap_uint<1>, ap_int<7>>();
}

template <int W, bool S>
ap_int_base<W, S> random_number(std::mt19937_64& random) {
  ap_detail::Limb limbs[ap_int_base<W, S>::kLimbs];
  const int shift = static_cast<int>(random() % 64);  // small and large ones
  for (auto& limb : limbs) limb = random() >> (random() % 2 == 0 ? shift : 0);
  return ap_int_base<W, S>::from_limbs(limbs);
}

TEST(ApInt, GivesExactResultsUpToTheWidthOfNativeIntegers) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    check_pair(random_number<60, true>(random), random_number<61, false>(random));
    check_pair(random_number<33, false>(random), random_number<64, true>(random));
    check_pair(random_number<64, true>(random), random_number<17, true>(random));
    if (HasFatalFailure()) return;
  }
}

TEST(ApInt, WrapsOnAssignment) {
  for (int value = -600; value < 600; ++value) {
    EXPECT_TRUE(big(ap_int<9>(value)) == (wrap<9, true>(value)));
    EXPECT_TRUE(big(ap_uint<7>(value)) == (wrap<7, false>(value)));
    EXPECT_TRUE(big(ap_uint<7>(ap_int<9>(value))) == (wrap<7, false>(wrap<9, true>(value))));
  }
  ap_uint<3> counter = 7;
  ++counter;
  EXPECT_EQ(counter, 0);
  --counter;
  EXPECT_EQ(counter--, 7);
  EXPECT_EQ(counter++, 6);
}

// (a * b + c) divided by b gives back a and c, at widths no native type has.
TEST(ApInt, DividesWideNumbers) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 500; ++i) {
    const auto a = random_number<512, false>(random);
    auto b = random_number<300, false>(random);
    if (b == 0) b = 1;
    const ap_uint<300> c = random_number<300, false>(random) % b;
    const auto product = a * b + c;
    ASSERT_EQ(product / b, a);
    ASSERT_EQ(product % b, c);
    const auto negative = -product;
    ASSERT_EQ(negative / b, -a);
    ASSERT_EQ(negative % b, -c);
  }
  EXPECT_THROW(ap_uint<100>(1) / ap_uint<9>(0), std::domain_error);
}

TEST(ApInt, AddsAndMultipliesWideNumbersByTheLawsOfAlgebra) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 500; ++i) {
    const auto a = random_number<512, true>(random), b = random_number<512, true>(random),
               c = random_number<512, true>(random);
    ASSERT_EQ((a + b) - b, a);
    ASSERT_EQ(a * (b + c), a * b + a * c);
    ASSERT_EQ((a - b) * (a + b), a * a - b * b);
    ASSERT_EQ((a & b) + (a | b), a + b);
    ASSERT_EQ(a ^ b ^ b, a);
    ASSERT_EQ(-(-a), a);
    ASSERT_EQ(a<b, b - a> 0);
  }
}

TEST(ApInt, ShiftsKeepTheirTypeAndGoBothWays) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 2000; ++i) {
    const auto a = random_number<100, true>(random);
    const int by = static_cast<int>(random() % 120);
    const Big x = big(a);
    const Big left = by < 100 ? static_cast<Big>(static_cast<unsigned __int128>(x) << by) : 0;
    ASSERT_TRUE(big(a << by) == (wrap<100, true>(left)));
    ASSERT_TRUE(big(a >> by) == x >> (by < 120 ? by : 119));
    ASSERT_EQ(a >> -by, a << by);
    ASSERT_EQ(a << ap_int<9>(-by), a >> by);
    ASSERT_EQ((ap_uint<100>(a) >> by).to_uint64(),
              by < 100 ? static_cast<std::uint64_t>(
                             static_cast<unsigned __int128>(big(ap_uint<100>(a))) >> by)
                       : 0);
  }
}

TEST(ApInt, SelectsAndSetsRangesOfABusWord) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000; ++i) {
    ap_uint<512> word = random_number<512, false>(random);
    const ap_uint<512> before = word;
    int low = static_cast<int>(random() % 512), high = static_cast<int>(random() % 512);
    if (low > high) std::swap(low, high);
    const auto range = word.range(high, low);
    ASSERT_EQ(range.length(), high - low + 1);
    for (int at = low; at <= high; ++at) ASSERT_EQ(range.get().test(at - low), word.test(at));
    const ap_uint<512> fresh = random_number<512, false>(random);
    word(high, low) = fresh;
    for (int at = 0; at < 512; ++at) {
      ASSERT_EQ(word.test(at), at < low || at > high ? before.test(at) : fresh.test(at - low));
    }
    ap_uint<512> mirrored = before;  // high < low: the bits in reverse
    mirrored.range(low, high) = before.range(high, low);
    for (int at = low; at <= high; ++at) ASSERT_EQ(mirrored.test(at), before.test(high + low - at));
    ASSERT_EQ(before.range(low, high).get().reverse() >> (512 - (high - low + 1)),
              before.range(high, low).get());
  }
}

TEST(ApInt, SlicesAWordIntoLanesOfNativeTypes) {
  ap_uint<512> word = 0;
  for (int lane = 0; lane < 16; ++lane) word.range(32 * lane + 31, 32 * lane) = 1000003u * lane;
  for (int lane = 0; lane < 16; ++lane) {
    const unsigned value = word.range(32 * lane + 31, 32 * lane);
    EXPECT_EQ(value, 1000003u * lane);
  }
}

TEST(ApInt, BitsAreNumbersAndPlaces) {
  ap_uint<70> a = 0;
  a[69] = 1;
  a[0] = a[69];
  EXPECT_TRUE(a[69] && a[0] && !a[1]);
  EXPECT_EQ(a.to_string(16), "0x200000000000000001");
  a.invert(1);
  a.clear(0);
  EXPECT_EQ(a.range(3, 0), 2);
  EXPECT_EQ(a[1] + a[1], 2);
  const ap_int<4> minus = -1;
  EXPECT_TRUE(minus.and_reduce() && !minus.xor_reduce() && minus[3]);
  EXPECT_TRUE(ap_uint<3>(4).xor_reduce() && ap_uint<3>(0).nor_reduce());
}

TEST(ApInt, JoinsBitsByCommaAndByName) {
  ap_uint<4> high = 0xA;
  ap_int<8> low = -2;
  const ap_uint<12> joined = (high, low);
  EXPECT_EQ(joined, 0xAFE);
  EXPECT_EQ(high.concat(low), 0xAFE);
  (high, low) = 0x512;
  EXPECT_EQ(high, 5);
  EXPECT_EQ(low, 0x12);
  EXPECT_EQ((ap_uint<4>(1), ap_uint<4>(2), ap_uint<4>(3)), 0x123);
  EXPECT_EQ((high, joined.range(7, 4)), 0x5F);
}

TEST(ApInt, RotatesAndReverses) {
  ap_uint<12> a = 0x123;
  EXPECT_EQ(a.lrotate(4), 0x231);
  EXPECT_EQ(a.rrotate(8), 0x312);
  EXPECT_EQ(a.reverse(), 0x48C);
  EXPECT_EQ(ap_uint<12>(1).countLeadingZeros(), 11);
  EXPECT_EQ(ap_uint<12>(0).countLeadingZeros(), 12);
  EXPECT_EQ(ap_int<12>(-1).countLeadingZeros(), 0);
  EXPECT_EQ(ap_uint<64>(3).countLeadingZeros(), 62);
  EXPECT_EQ((ap_uint<100>(1) << 70).countLeadingZeros(), 29);
  EXPECT_EQ(ap_uint<100>(0).countLeadingZeros(), 100);
}

TEST(ApInt, ReadsAndPrintsText) {
  EXPECT_EQ(ap_int<8>("-100").to_int(), -100);
  EXPECT_EQ(ap_uint<16>("0xBEEF").to_uint(), 0xBEEFu);
  EXPECT_EQ(ap_uint<16>("BEEF", 16).to_uint(), 0xBEEFu);
  EXPECT_EQ(ap_int<6>("101010", 2).to_int(), -22);
  EXPECT_EQ(ap_uint<9>("0b1_0001").to_uint(), 17u);
  EXPECT_THROW(ap_int<8>("12z"), std::invalid_argument);
  EXPECT_THROW(ap_int<8>(""), std::invalid_argument);
  EXPECT_EQ(ap_int<6>(-22).to_string(2), "0b101010");
  EXPECT_EQ(ap_int<12>(-1).to_string(8), "0o7777");
  EXPECT_EQ(ap_int<12>(-1).to_string(10), "-1");
  std::ostringstream out;
  out << ap_int<9>(-200) << " " << std::hex << ap_uint<100>("0xfedcba9876543210f") << " "
      << ap_uint<8>(0);
  EXPECT_EQ(out.str(), "-200 fedcba9876543210f 0");
  std::istringstream in("0x1F -3");
  ap_int<10> a, b;
  in >> a >> b;
  EXPECT_EQ(a, 31);
  EXPECT_EQ(b, -3);
}

TEST(ApInt, PrintsWhatItReadsInDecimal) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 200; ++i) {
    const auto a = random_number<300, true>(random);
    ASSERT_EQ(a, (ap_int_base<300, true>(a.to_string(10).c_str())));
  }
}

TEST(ApInt, ConvertsToAndFromFloatingPoint) {
  EXPECT_EQ(ap_int<9>(-3.99).to_int(), -3);
  EXPECT_EQ(ap_uint<200>(0x1p150), ap_uint<200>(1) << 150);
  EXPECT_EQ((ap_uint<200>(1) << 150).to_double(), 0x1p150);
  EXPECT_EQ(ap_int<200>(-0x1.fp100).to_double(), -0x1.fp100);
  EXPECT_EQ(ap_int<8>(0.5).to_int(), 0);
  EXPECT_EQ(ap_int<8>(3) * 0.5, 1.5);
  std::mt19937_64 random(7);
  for (int i = 0; i < 10000; ++i) {
    const auto a = random_number<100, true>(random);
    ASSERT_EQ(a.to_double(), static_cast<double>(big(a)));
  }
}

TEST(ApInt, WorksWithNativeIntegersWhereverTheyStand) {
  ap_uint<12> a = 100;
  EXPECT_EQ(a + 1, 101);
  EXPECT_EQ(1 - a, -99);
  EXPECT_EQ(a * -2, -200);
  EXPECT_TRUE(a > -1 && 4000u > a && -1 < a);
  a += 5000;
  EXPECT_EQ(a, 5100 - 4096);
  a <<= 1;
  EXPECT_EQ(a, 2008);
  int values[16] = {};
  values[ap_uint<4>(3)] = 7;
  int plain = ap_int<20>(-5);
  plain += ap_uint<3>(6);
  EXPECT_EQ(values[3] + plain, 8);
  int sum = 0;
  for (ap_uint<4> i = 0; i < 10; i++) sum += i;
  EXPECT_EQ(sum, 45);
  EXPECT_EQ(1 << ap_uint<3>(4), 16);
  EXPECT_TRUE(ap_uint<65>(a) && !ap_uint<65>(0));
}

TEST(ApInt, LiesInMemoryAsAPortReadsIt) {
  EXPECT_EQ(sizeof(ap_uint<1>), 1u);
  EXPECT_EQ(sizeof(ap_int<8>), 1u);
  EXPECT_EQ(sizeof(ap_uint<9>), 2u);
  EXPECT_EQ(sizeof(ap_int<32>), 4u);
  EXPECT_EQ(sizeof(ap_int<33>), 8u);
  EXPECT_EQ(sizeof(ap_uint<512>), 64u);
  const std::uint8_t bytes[64] = {1, 2, 3};
  ap_uint<512> word;
  std::memcpy(static_cast<void*>(&word), bytes, sizeof(word));
  EXPECT_EQ(word, 0x030201);
  EXPECT_TRUE((std::is_trivially_default_constructible_v<ap_uint<512>>));
}

}  // namespace
}  // namespace tandem
