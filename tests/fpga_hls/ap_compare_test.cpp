// SPDX-License-Identifier: Apache-2.0
//
// Comparisons of numbers with and without a sign: those of native widths as C's own, the others by
// C's rule, written down once more with 128-bit integers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ap_fixed.h"
#include "ap_int.h"

namespace tandem {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

// Native integers of unlike signs are compared on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
// Bits of ==, <, <=, and whether the others are their opposites.
template <typename A, typename B>
int relation(const A& a, const B& b) {
  EXPECT_EQ(a == b, !(a != b));
  EXPECT_EQ(a < b, !(a >= b));
  EXPECT_EQ(a <= b, !(a > b));
  return (a == b ? 1 : 0) | (a < b ? 2 : 0) | (a <= b ? 4 : 0);
}

const std::vector<std::int64_t> kValues = {
    0,           1,         5,        -1,     -2,    127,        128,        -128,
    255,         256,       32767,    -32768, 65535, 0x7fffffff, 0xffffffff, -0x7fffffff - 1LL,
    0x123456789, INT64_MAX, INT64_MIN};

template <typename Signed, int W, typename Unsigned, int V>
void expect_as_native() {
  for (const std::int64_t first : kValues) {
    for (const std::int64_t second : kValues) {
      const auto a = static_cast<Signed>(first);
      const auto b = static_cast<Unsigned>(second);
      const ap_int<W> x = a;
      const ap_uint<V> y = b;
      const int forward = relation(a, b), back = relation(b, a);
      ASSERT_EQ(relation(x, y), forward) << W << " " << V << " " << first << " " << second;
      ASSERT_EQ(relation(y, x), back) << W << " " << V << " " << first << " " << second;
      ASSERT_EQ(relation(x, b), forward) << W << " " << V << " " << first << " " << second;
      ASSERT_EQ(relation(b, x), back);
      ASSERT_EQ(relation(a, y), forward);
      ASSERT_EQ(relation(y, a), back);
    }
  }
}

#pragma GCC diagnostic pop

template <typename Signed, int W>
void expect_as_native_with_all() {
  expect_as_native<Signed, W, std::uint8_t, 8>();
  expect_as_native<Signed, W, std::uint16_t, 16>();
  expect_as_native<Signed, W, std::uint32_t, 32>();
  expect_as_native<Signed, W, std::uint64_t, 64>();
}

TEST(ApCompare, NativeWidthsCompareAsInC) {
  expect_as_native_with_all<std::int8_t, 8>();
  expect_as_native_with_all<std::int16_t, 16>();
  expect_as_native_with_all<std::int32_t, 32>();
  expect_as_native_with_all<std::int64_t, 64>();
}

// Both widths are below 128.
template <int W, int V>
void expect_by_rule() {
  constexpr int kWidth = std::max(W, V);
  constexpr bool kBecomeUnsigned = kWidth >= 32 && V >= W;
  for (const std::int64_t first : kValues) {
    for (const std::int64_t second : kValues) {
      const ap_int<W> x = first;
      const ap_uint<V> y = second;
      const auto unused = static_cast<unsigned>(128 - W);
      const Wide a = static_cast<Wide>(static_cast<UnsignedWide>(Wide{first}) << unused) >> unused;
      const auto b =
          static_cast<UnsignedWide>(Wide{second}) & ((static_cast<UnsignedWide>(1) << V) - 1);
      const UnsignedWide mask = (static_cast<UnsignedWide>(1) << kWidth) - 1;
      const int expected = kBecomeUnsigned ? relation(static_cast<UnsignedWide>(a) & mask, b)
                                           : relation(a, static_cast<Wide>(b));
      ASSERT_EQ(relation(x, y), expected) << W << " " << V << " " << first << " " << second;
      // Parts and concatenations have the unsigned value.
      const ap_uint<V + 3> more = y;
      ASSERT_EQ(relation(x, more(V - 1, 0)), relation(x, ap_uint<V + 3>(y)));
    }
  }
}

TEST(ApCompare, OtherWidthsFollowTheSameRule) {
  expect_by_rule<8, 31>();
  expect_by_rule<31, 31>();
  expect_by_rule<8, 33>();
  expect_by_rule<33, 32>();
  expect_by_rule<40, 40>();
  expect_by_rule<40, 39>();
  expect_by_rule<64, 65>();
  expect_by_rule<65, 64>();
  expect_by_rule<70, 100>();
  expect_by_rule<100, 70>();
  expect_by_rule<5, 120>();
}

TEST(ApCompare, LiteralsAreNumbersOfTheirTypes) {
  EXPECT_FALSE(ap_int<8>(-1) < 0U);
  EXPECT_TRUE(ap_int<8>(-1) < 0);
  EXPECT_TRUE(ap_int<8>(-1) < ap_uint<31>(0));
  EXPECT_TRUE(ap_int<40>(-1) < 0U);
  EXPECT_TRUE(ap_int<32>(-1) == 0xFFFFFFFFU);
  EXPECT_FALSE(ap_uint<32>(5) > -1);
  EXPECT_TRUE(ap_uint<31>(5) > -1);
  EXPECT_TRUE(ap_int<8>(-1) < true);
  EXPECT_TRUE(ap_int<8>(-1) < static_cast<unsigned char>(255));
}

// The widths after alignment decide; a left operand that is shifted is one bit wider.
TEST(ApCompare, FixedPointNumbersCountWithTheirAlignedWidth) {
  const ap_fixed<8, 4> low = -0.5;
  EXPECT_TRUE(low < (ap_ufixed<31, 16>(1)));
  EXPECT_FALSE(low < (ap_ufixed<40, 20>(1)));
  EXPECT_FALSE(low < 1U);
  EXPECT_TRUE(low < 1);
  EXPECT_TRUE((ap_fixed<40, 20>(-0.5)) < (ap_ufixed<32, 16>(1)));
  EXPECT_FALSE((ap_fixed<40, 20>(-0.5)) < (ap_ufixed<40, 20>(1)));
  EXPECT_TRUE((ap_ufixed<32, 16>(1)) > -1);
  EXPECT_FALSE((ap_ufixed<32, 16>(1)) > ap_int<8>(-1));
  EXPECT_TRUE((ap_fixed<32, 20>(-1)) < (ap_ufixed<36, 20>(1)));
  EXPECT_FALSE((ap_ufixed<36, 20>(1)) > (ap_fixed<32, 20>(-1)));
}

}  // namespace
}  // namespace tandem
