// SPDX-License-Identifier: Apache-2.0
//
// The intrinsics of DSP slices against native arithmetic that is cut to the widths of the ports.
#include "hls_dsp_builtins.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace tandem {
namespace {

// The low `bits` of `value` as a signed number.
std::int64_t cut(std::int64_t value, int bits) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << (64 - bits)) >> (64 - bits);
}

TEST(HlsDsp, PortsHaveTheWidthsOfTheSlice) {
  static_assert(std::is_same<hls::dsp48e1::A_t, ap_int<25>>::value, "");
  static_assert(std::is_same<hls::dsp48e2::A_t, ap_int<27>>::value, "");
  static_assert(std::is_same<hls::dsp48e2::B_t, ap_int<18>>::value, "");
  static_assert(std::is_same<hls::dsp48e2::P_t, ap_int<48>>::value, "");
  static_assert(std::is_same<hls::dsp58::B_t, ap_int<24>>::value, "");
  static_assert(std::is_same<hls::dsp58::C_t, ap_int<58>>::value, "");
  const long wide = (1l << 20) + 5;
  EXPECT_EQ(hls::dsp48e2::mul_add(3, wide, 1), 3 * cut(wide, 18) + 1);
  EXPECT_EQ(hls::dsp58::mul_add(3, wide, 1), 3 * wide + 1);
  EXPECT_EQ(hls::dsp48e1::mul_add(1l << 24, 1, 0), -(1l << 24));
}

TEST(HlsDsp, EachFunctionHasItsSigns) {
  using namespace hls::dsp48e2;
  constexpr std::int64_t kFlags = REG_A1 | REG_B1 | REG_M | REG_P;
  const long d = -70, a = 1234, b = -567, c = 89;
  EXPECT_EQ((mul_add<kFlags>(a, b, c)), a * b + c);
  EXPECT_EQ((mul_sub<kFlags>(a, b, c)), a * b - c);
  EXPECT_EQ((mul_rev_sub<kFlags>(a, b, c)), c - a * b);
  EXPECT_EQ((add_mul_add<kFlags>(d, a, b, c)), (d + a) * b + c);
  EXPECT_EQ((add_mul_sub<kFlags>(d, a, b, c)), (d + a) * b - c);
  EXPECT_EQ((add_mul_rev_sub<kFlags>(d, a, b, c)), c - (d + a) * b);
  EXPECT_EQ((sub_mul_add<kFlags>(d, a, b, c)), (d - a) * b + c);
  EXPECT_EQ((sub_mul_sub<kFlags>(d, a, b, c)), (d - a) * b - c);
  EXPECT_EQ((sub_mul_rev_sub<kFlags>(d, a, b, c)), c - (d - a) * b);
}

TEST(HlsDsp, AccumulatorStartsAgainAndWrapsAtItsWidth) {
  hls::dsp48e2::acc<hls::dsp48e2::REG_P> sum;
  EXPECT_EQ(sum.mul_acc(2, 3, false), 6);
  EXPECT_EQ(sum.mul_acc(4, 5, false), 26);
  EXPECT_EQ(sum.add_mul_acc(1, 2, 10, false), 56);
  EXPECT_EQ(sum.mul_acc(7, 7, true), 49);
  EXPECT_EQ(sum.add_mul_acc(1, 1, 3, true), 6);
  std::int64_t expected = 0;
  for (int i = 0; i < 30000; ++i) {
    const auto got = sum.mul_acc((1 << 26) - 1, (1 << 17) - 1, i == 0);
    expected = cut(expected + ((1l << 26) - 1) * ((1l << 17) - 1), 48);
    ASSERT_EQ(got, expected) << i;
  }
}

TEST(HlsDsp, CascadesAreASystolicFilter) {
  using namespace hls::dsp48e2;
  const long taps[] = {1, 12, -3, 4}, bias = 100;
  cascade<REG_A1 | REG_B1 | REG_M | REG_P> first;
  cascade<REG_A1 | REG_B1 | REG_B2 | REG_M | REG_P> rest[3];
  std::vector<long> inputs;
  for (int n = 0; n < 12; ++n) {
    inputs.push_back(n * n - 20);
    auto out = first.mul_add(taps[0], inputs.back(), bias);
    for (int tap = 1; tap < 4; ++tap) {
      out = rest[tap - 1].mul_add(taps[tap], out.bcout, out.pcout);
    }
    long expected = bias;
    for (int tap = 0; tap < 4 && tap <= n; ++tap) expected += taps[tap] * inputs[n - tap];
    EXPECT_EQ(out.pcout, expected) << n;
  }
}

TEST(HlsDsp, ComplexSliceMultipliesComplexNumbers) {
  using namespace hls::dspcplx;
  const A_t a(3, -4);
  const B_t b(-5, 7);
  const C_t c(100, 200);
  const C_t product = mul(a, b), sum = mul_add(a, b, c);
  EXPECT_EQ(product.real(), 3 * -5 - -4 * 7);
  EXPECT_EQ(product.imag(), 3 * 7 + -4 * -5);
  EXPECT_EQ(sum.real(), 113);
  EXPECT_EQ(sum.imag(), 241);
  acc<REG_P> total;
  total.mul_acc(a, b, true);
  EXPECT_EQ(total.mul_acc(a, b, false).imag(), 82);
  EXPECT_EQ(total.mul_acc(a, b, true).imag(), 41);
}

TEST(HlsDsp, FullPipelineOfAComplexCascadeIsOneCallLate) {
  using namespace hls::dspcplx;
  cascade<BALANCED_PIPELINE | REG_M | REG_P> first;
  cascade<FULL_PIPELINE | REG_M | REG_P> second;
  const A_t tap(2, 1);
  B_t before(0, 0);
  for (int n = 1; n < 6; ++n) {
    const B_t input(n, -n);
    R_t out = first.mul_add(tap, input, C_t(0, 0));
    out = second.mul_add(tap, out.bcout, out.pcout);
    const C_t one = mul(tap, input), two = mul(tap, before);
    EXPECT_EQ(out.pcout.real(), one.real() + two.real());
    EXPECT_EQ(out.pcout.imag(), one.imag() + two.imag());
    EXPECT_EQ(out.bcout.real(), before.real());
    before = input;
  }
}

}  // namespace
}  // namespace tandem
