// SPDX-License-Identifier: Apache-2.0
//
// What kernels take from the folders utils/ and etc/, from ap_int.h alone, and from classes that
// derive from a stream.
#include "utils/x_hls_utils.h"

#include <gtest/gtest.h>

#include <cmath>

#include "etc/ap_utils.h"
#include "hls_stream.h"

namespace tandem {
namespace {

TEST(HlsFields, FloatingPointNumbersHaveTheirFields) {
  const fp_struct<float> number(-6.5f);  // -1.625 * 2^2
  EXPECT_EQ(number.sign, 1);
  EXPECT_TRUE(number.__signbit());
  EXPECT_EQ(number.expv(), 2);
  EXPECT_EQ(number.exp, 129);
  EXPECT_EQ(number.sig, 0x500000);
  EXPECT_EQ(number.mantissa().to_double(), 1.625);
  EXPECT_EQ(number.data(), 0xc0d00000u);
  EXPECT_EQ(number.to_int(), static_cast<int>(0xc0d00000u));
  EXPECT_EQ(number.to_float(), -6.5f);
  static_assert(fp_struct<float>::EXP_BIAS == 127 && fp_struct<float>::EXP_INFNAN == 255, "");
  static_assert(fp_struct<double>::BITS == 64 && fp_struct<half>::SIG_BITS == 10, "");
  EXPECT_EQ(fp_struct<double>(0.1).to_double(), 0.1);
  EXPECT_EQ(fp_struct<double>(0.1).expv(), -4);
  EXPECT_EQ(fp_struct<half>(half(0.75f)).expv(), -1);
  EXPECT_EQ(static_cast<float>(fp_struct<half>(half(0.75f)).to_half()), 0.75f);
}

TEST(HlsFields, FieldsJoinToANumber) {
  fp_struct<float> number;
  EXPECT_EQ(number.to_float(), 0.0f);
  number.exp = 127 + 3;
  number.sig = 1 << 22;
  EXPECT_EQ(number.to_ieee(), 12.0f);
  number.sign = 1;
  EXPECT_EQ(number.to_ieee(), -12.0f);
  EXPECT_TRUE(std::isinf(fp_struct<float>(ap_uint<32>(0x7f800000)).to_float()));
}

TEST(HlsFields, LimitsOfNumberTypes) {
  EXPECT_EQ(hls::numeric_limits<ap_int<9>>::max(), 255);
  EXPECT_EQ(hls::numeric_limits<ap_int<9>>::min(), -256);
  EXPECT_EQ(hls::numeric_limits<ap_int<9>>::epsilon(), 1);
  EXPECT_EQ(hls::numeric_limits<ap_uint<9>>::max(), 511);
  EXPECT_EQ(hls::numeric_limits<ap_uint<9>>::min(), 0);
  typedef ap_fixed<8, 4> Fixed;
  EXPECT_EQ(hls::numeric_limits<Fixed>::max().to_double(), 7.9375);
  EXPECT_EQ(hls::numeric_limits<Fixed>::min().to_double(), -8);
  EXPECT_EQ(hls::numeric_limits<Fixed>::epsilon().to_double(), 0.0625);
  typedef ap_ufixed<8, 4> Unsigned;
  EXPECT_EQ(hls::numeric_limits<Unsigned>::min().to_double(), 0);
  EXPECT_EQ(hls::numeric_limits<Unsigned>::max().to_double(), 15.9375);
  EXPECT_EQ(hls::numeric_limits<int>::max(), 0x7fffffff);
  EXPECT_EQ(hls::numeric_limits<float>::min(), std::numeric_limits<float>::min());
}

TEST(HlsFields, PartsOfNumbersBecomeNumbers) {
  ap_fixed<12, 4> fixed = 1.5;
  EXPECT_EQ(fixed.range().to_ap_int_base(), 0x180);
  ap_uint<12> word = 0xabc;
  EXPECT_EQ(word.range(7, 4).to_ap_int_base(), 0xb);
  EXPECT_EQ((word.range(3, 0), word.range(11, 8)).to_ap_int_base(), 0xca);
}

// As public projects write it.
template <typename T, int Capacity>
class NamedStream : public hls::stream<T, Capacity> {
 public:
  explicit NamedStream(const char* name) : hls::stream<T, Capacity>(name) {}
};

TEST(HlsFields, StreamsOfDerivedClassesKeepNameAndDepth) {
  NamedStream<int, 3> stream("wire");
  hls::stream<int>& base = stream;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(base.write_nb(i));
  EXPECT_FALSE(stream.write_nb(3));
  EXPECT_STREQ(stream.get_name(), "wire");
  static_assert(NamedStream<int, 3>::tandem_depth == 3, "");
}

}  // namespace
}  // namespace tandem
