// SPDX-License-Identifier: Apache-2.0
//
// The forms in which kernels use ap_int and ap_uint: result types at compile time, parts of
// numbers, native and floating-point operands, and errors.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <sstream>

#include "ap_fixed.h"
#include "ap_int.h"
#include "hls_half.h"

namespace tandem {
namespace {

template <typename T, int W, bool S>
constexpr bool is() {
  return std::is_same<T, ap_int_base<W, S>>::value;
}
typedef ap_int<7> I7;
typedef ap_uint<7> U7;
typedef ap_uint<12> U12;

static_assert(is<decltype(I7() + I7()), 8, true>(), "");
static_assert(is<decltype(U7() + U7()), 8, false>(), "");
static_assert(is<decltype(I7() + U7()), 9, true>(), "");
static_assert(is<decltype(I7() + U12()), 14, true>(), "");
static_assert(is<decltype(U7() - U12()), 13, true>(), "");
static_assert(is<decltype(I7() * U12()), 19, true>(), "");
static_assert(is<decltype(U7() * U12()), 19, false>(), "");
static_assert(is<decltype(U7() / I7()), 8, true>(), "");
static_assert(is<decltype(I7() / U12()), 7, true>(), "");
static_assert(is<decltype(I7() % U12()), 7, true>(), "");
static_assert(is<decltype(U12() % U7()), 7, false>(), "");
static_assert(is<decltype(U12() & I7()), 13, true>(), "");
static_assert(is<decltype(U12() | U7()), 12, false>(), "");
static_assert(is<decltype(U12() ^ 1), 32, true>(), "");
static_assert(is<decltype(I7() << 3), 7, true>(), "");
static_assert(is<decltype(-U7()), 8, true>(), "");
static_assert(is<decltype(~U7()), 7, false>(), "");
static_assert(is<decltype(U7() + 1), 33, true>(), "");
static_assert(is<decltype(U7() + 1u), 33, false>(), "");
static_assert(is<decltype(I7() * 'a'), 15, true>(), "");
static_assert(is<decltype(I7() + true), 8, true>(), "");
static_assert(is<decltype(1L - I7()), 65, true>(), "");
static_assert(is<decltype(U12()(3, 0) + U7()), 13, false>(), "");
static_assert(std::is_same<decltype(I7() * 0.5f), float>::value, "");
static_assert(std::is_same<decltype(2 << U7()), int>::value, "");
static_assert(std::is_trivially_copyable<ap_uint<512>>::value, "");
static_assert(ap_uint<12>::width == 12, "");

template <int W, bool S>
int width_of(const ap_int_base<W, S>&) {
  return W;
}
template <int W, bool S>
int range_width(const ap_range_ref<W, S>& range) {
  return range.length();
}

TEST(ApIntForms, TemplatesTakeTheBases) {
  ap_uint<12> a = 1;
  EXPECT_EQ(width_of(a), 12);
  EXPECT_EQ(width_of(a * a), 24);
  EXPECT_EQ(range_width(a.range(7, 3)), 5);
}

TEST(ApIntForms, BitsCountAsBool) {
  ap_uint<8> a = 0x82;
  EXPECT_EQ(a[1] << 3, 8);
  EXPECT_EQ(a[7] + a[1], 2);
  EXPECT_EQ(a[7] + a, 0x83);
  EXPECT_TRUE(a[7] == 1 && a[0] != a[1] && !a[0] && ~a[0]);
  EXPECT_EQ(a[1] ^ a[7], 0);
  a[0] = a[7];
  a[7] = ap_uint<3>(0);
  a[2] |= true;
  a[1] ^= a[2];
  a.bit(3) = 1;
  EXPECT_EQ(a, 0x0D);
  a.set(7);
  a.clear(0);
  a.invert(6);
  a.set_bit(5, true);
  EXPECT_EQ(a, 0xEC);
  EXPECT_TRUE(a.test(5) && a.get_bit(6) && !a.test(0));
  a.set();
  EXPECT_EQ(a, 0xFF);
  a.clear();
  EXPECT_EQ(a, 0);
}

TEST(ApIntForms, RangesAreNumbersAndPlaces) {
  ap_uint<64> a = 0x0123456789abcdefull;
  EXPECT_EQ(a(15, 8), 0xcd);
  EXPECT_EQ(a.range(15, 8) + a.range(7, 0), 0xcd + 0xef);
  EXPECT_EQ(a(31, 0)(15, 8), 0xcd);
  EXPECT_TRUE(a(31, 0)[0]);
  EXPECT_EQ(a.range(0, 7), 0xf7);  // the other way round
  a(7, 0) += 2;
  a(15, 8) = a(7, 0);
  a.range(23, 16)(3, 0) = 0;
  EXPECT_EQ(a, 0x0123456789a0f1f1ull);
  a(63, 32) = 1.5;
  a(31, 0) = ap_int<40>(-1);
  EXPECT_EQ(a, 0x00000001ffffffffull);
  const ap_uint<64> b = a;
  EXPECT_EQ(b(35, 28), 0x1f);
  EXPECT_TRUE(a(35, 28).or_reduce() && !a(35, 28).and_reduce() && a(31, 28).and_reduce());
  EXPECT_TRUE(a(35, 28).xor_reduce() && a(63, 40).nor_reduce());
  EXPECT_EQ(a(32, 31).to_string(), "0b11");
  EXPECT_EQ(a(35, 30).length(), 6);
  EXPECT_EQ(~a(33, 30), 0x8);
  EXPECT_EQ(-a(33, 30), -7);
}

TEST(ApIntForms, RangesAndConcatenationsTakeTheValueOfAFixedPointNumber) {
  ap_fixed<16, 8> f = 3.5;
  ap_uint<32> v = 0;
  v.range(15, 0) = f;
  EXPECT_EQ(v, 3);
  f = -3.5;  // cut towards zero
  v(31, 16) = f;
  EXPECT_EQ(v, 0xfffd0003u);
  ap_uint<8> high = 0, low = 0;
  (high, low) = ap_ufixed<20, 12>(0x123 + 0.75);
  EXPECT_EQ(high, 1);
  EXPECT_EQ(low, 0x23);
  (high, v(7, 0)) = f;
  EXPECT_EQ(high, 0xff);
  EXPECT_EQ(v, 0xfffd00fdu);
  v.range(15, 0) = ap_fixed<16, 8>(3.5).range(15, 0);
  EXPECT_EQ(v, 0xfffd0380u);
}

TEST(ApIntForms, ARangeOfAThousandBitsMoves) {
  std::mt19937_64 random(1);
  ap_uint<4096> a = 0, b = 0;
  for (int at = 0; at < 4096; at += 64) a.range(at + 63, at) = random();
  b.range(3333, 100) = a.range(3233, 0);
  for (int at = 0; at < 4096; ++at) {
    ASSERT_EQ(b.test(at), at >= 100 && at <= 3333 && a.test(at - 100)) << at;
  }
  b = a;
  b.range(1000, 1) = b.range(999, 0);
  for (int at = 0; at < 4096; ++at) {
    ASSERT_EQ(b.test(at), at >= 1 && at <= 1000 ? a.test(at - 1) : a.test(at)) << at;
  }
}

TEST(ApIntForms, ConcatenationsJoinAnythingAndTakeAssignments) {
  ap_uint<10> result;
  ap_int<3> val1 = -3;
  ap_int<7> val2 = 54;
  result = (val2, val1);
  EXPECT_EQ(result, 0x1B5);
  result = val1.concat(val2);
  EXPECT_EQ(result, 0x2B6);
  (val1, val2) = 0xAB;
  EXPECT_EQ(val1, 1);
  EXPECT_EQ(val2, 43);
  ap_uint<8> a = 0xAB, b = 0xCD;
  (a(3, 0), b(7, 4), b[0]) = ap_uint<9>(0x1F0);
  EXPECT_EQ(a, 0xAF);
  EXPECT_EQ(b, 0x8C);
  EXPECT_EQ((a, b).length(), 16);
  EXPECT_EQ((a[0], b[0]), 2);
  EXPECT_EQ((ap_uint<4>(5), true), 11);
  EXPECT_EQ((a, b) + 1, 0xAF8D);
  const ap_uint<24> three = (a, b, ap_uint<8>(7));
  EXPECT_EQ(three, 0xAF8C07);
  (a, b) = (b, a);
  EXPECT_EQ(a, 0x8C);
  EXPECT_EQ(b, 0xAF);
}

TEST(ApIntForms, ShiftAmountsOfAnySizeAndSignWork) {
  const ap_int<8> a = -5;
  EXPECT_EQ(a << 100, 0);
  EXPECT_EQ(a >> 100, -1);
  EXPECT_EQ(a >> 4000000000u, -1);
  EXPECT_EQ(a >> ap_uint<100>(ap_uint<100>(1) << 90), -1);
  EXPECT_EQ(a >> std::numeric_limits<int>::min(), 0);
  EXPECT_EQ(a >> ap_int<4>(-1), -10);
  ap_uint<200> wide = 1;
  wide <<= 199;
  wide >>= ap_uint<8>(198);
  EXPECT_EQ(wide, 2);
}

TEST(ApIntForms, ReductionsAndRotationsOfAllWidths) {
  EXPECT_TRUE(ap_uint<130>(~ap_uint<130>(0)).and_reduce());
  EXPECT_FALSE(ap_uint<130>(1).nand_reduce() == ap_uint<130>(1).and_reduce());
  EXPECT_TRUE((ap_int<3>(-1).xor_reduce()) && ap_int<4>(-1).xnor_reduce());
  EXPECT_TRUE((ap_int<65>(-1).xor_reduce()));
  ap_uint<130> a = 3;
  a.rrotate(1);
  EXPECT_TRUE(a[129] && a[0] && !a[1]);
  a.lrotate(2);
  EXPECT_EQ(a, 6);
  a.reverse();
  EXPECT_TRUE(a[128] && a[127] && !a[129]);
  ap_int<8> b = -2;
  b.b_not();
  EXPECT_EQ(b, 1);
  EXPECT_TRUE(ap_int<8>(-1).sign() && !ap_uint<8>(255).sign());
}

TEST(ApIntForms, AssignmentsComputeInTheirOwnWidth) {
  ap_uint<64> a = ~0ull;
  a += 1;
  EXPECT_EQ(a, 0);
  a -= 1;
  EXPECT_EQ(a, ~0ull);
  a *= a;
  EXPECT_EQ(a, 1);
  a |= 6;
  a &= -2;
  a ^= ap_int<3>(-1);
  EXPECT_EQ(a, ~6ull);
  a /= 3;
  EXPECT_EQ(a, ~6ull / 3);
  a %= 1000;
  EXPECT_EQ(a, ~6ull / 3 % 1000);
  a *= 0.5;
  EXPECT_EQ(a, ~6ull / 3 % 1000 / 2);
  int plain = 7;
  plain += ap_uint<9>(1);
  plain <<= ap_uint<3>(2);
  EXPECT_EQ(plain, 32);
}

TEST(ApIntForms, VolatilePortsAreReadAndWritten) {
  volatile ap_uint<16> port;
  port = 5;
  const ap_uint<16> read = port;
  EXPECT_EQ(read, 5);
  EXPECT_EQ(port + 1, 6);
}

TEST(ApIntForms, TakesEveryNativeType) {
  EXPECT_EQ(ap_int<100>(std::numeric_limits<long long>::min()).to_int64(),
            std::numeric_limits<long long>::min());
  EXPECT_EQ(ap_uint<100>(~0ull) >> 63, 1);
  EXPECT_EQ(ap_uint<200>(-1) >> 199, 1);
  __extension__ typedef unsigned __int128 Pair;
  EXPECT_EQ(ap_uint<200>(~Pair(0)) >> 127, 1);
  enum Colour { kRed, kBlue = 5 };
  EXPECT_EQ(ap_uint<4>(kBlue) + kBlue, 10);
  EXPECT_EQ(ap_int<8>(-2.9f).to_int(), -2);
  EXPECT_EQ(ap_int<8>(half(-2.5f)), -2);
  EXPECT_EQ(half(ap_int<8>(-7)), half(-7.0f));
  EXPECT_EQ(ap_int<8>('a'), 97);
  EXPECT_EQ(ap_uint<8>(true), 1);
  EXPECT_EQ(ap_uint<1>(3), 1);
  EXPECT_EQ(ap_int<1>(1), -1);
  EXPECT_EQ(ap_int<200>(-1e30).to_double(), -1e30);
  EXPECT_EQ(ap_uint<64>(1.5e19).to_uint64(), 15000000000000000000ull);
  EXPECT_EQ(ap_uint<90>((ap_uint<90>(1) << 80) + 1).to_float(), 0x1p80f);
}

TEST(ApIntForms, KnowsItsLimits) {
  EXPECT_EQ(std::numeric_limits<ap_int<9>>::max(), 255);
  EXPECT_EQ(std::numeric_limits<ap_int<9>>::min(), -256);
  EXPECT_EQ(std::numeric_limits<ap_uint<9>>::max(), 511);
  EXPECT_EQ(std::numeric_limits<ap_uint<9>>::digits, 9);
}

TEST(ApIntForms, StreamsKeepTheirRadix) {
  std::ostringstream out;
  ap_uint<16> a = 0xbeef;
  out << std::hex << a << " " << a(15, 8) << std::dec << " " << a(7, 0) << " " << a[0];
  EXPECT_EQ(out.str(), "beef be 239 1");
  std::istringstream in("ff 10");
  in >> std::hex >> a;
  EXPECT_EQ(a, 255);
}

TEST(ApIntForms, RefusesBitsThatAreNotThere) {
  ap_uint<8> a = 0;
  EXPECT_THROW(a[8] = 1, std::out_of_range);
  EXPECT_THROW(a[-1], std::out_of_range);
  EXPECT_THROW(a.range(8, 0), std::out_of_range);
  EXPECT_THROW(a(3, 0)[4], std::out_of_range);
  EXPECT_THROW(a.set(9), std::out_of_range);
  EXPECT_THROW(a / ap_uint<4>(0), std::domain_error);
  EXPECT_THROW(ap_uint<100>(1) % 0, std::domain_error);
}

TEST(ApIntForms, DividesTheLowestNumberByMinusOne) {
  EXPECT_EQ(ap_int<64>(std::numeric_limits<std::int64_t>::min()) / ap_int<64>(-1), ap_uint<64>(1)
                                                                                       << 63);
  EXPECT_EQ(ap_int<8>(-128) / ap_int<8>(-1), 128);
  ap_int<128> low = 0;
  low[127] = 1;
  EXPECT_EQ(low / -1, ap_uint<128>(1) << 127);
}

}  // namespace
}  // namespace tandem
