// SPDX-License-Identifier: Apache-2.0
//
// The fields of floating-point numbers (fp_struct) and the limits of HLS' number types
// (hls::numeric_limits).
//
// fp_struct<float>, <double> and <half> split a number into sign, exponent and fraction and join
// them again; no field is rounded. hls::numeric_limits<T> has max(), min() and epsilon(). For a
// type of HLS min() is the lowest value; for a native type it is std::numeric_limits<T>::min().
// Source: IEEE 754-2019; the uses of this header in public projects. C++11.
#pragma once

#include <cstring>
#include <limits>

#include "../ap_fixed.h"

#include "../tandem_macros_begin.h"

namespace hls {
namespace detail {

// The fields of T, which has kExp bits of exponent and kSig bits of fraction.
template <typename T, typename Word, int kExp, int kSig>
struct FloatFields {
  static constexpr int EXP_BITS = kExp;
  static constexpr int SIG_BITS = kSig;
  static constexpr int BITS = kExp + kSig + 1;
  static constexpr int EXP_BIAS = (1 << (kExp - 1)) - 1;
  static constexpr int EXP_INFNAN = (1 << kExp) - 1;
  typedef ap_uint<BITS> data_type;
  typedef ap_uint<kExp> exp_type;
  typedef ap_uint<kSig> sig_type;

  sig_type sig;
  exp_type exp;
  ap_uint<1> sign;

  FloatFields() : sig(0), exp(0), sign(0) {}
  FloatFields(T value) {
    Word bits;
    std::memcpy(&bits, &value, sizeof(bits));
    take(data_type(bits));
  }
  FloatFields(const data_type& bits) { take(bits); }

  data_type data() const {
    data_type bits = 0;
    bits.range(kSig - 1, 0) = sig;
    bits.range(kSig + kExp - 1, kSig) = exp;
    bits.range(BITS - 1, BITS - 1) = sign;
    return bits;
  }
  T to_ieee() const {
    const Word bits = static_cast<Word>(data().to_uint64());
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof(value));
    return value;
  }
  int to_int() const { return data().to_int(); }
  // The exponent of a normal number as a power of two.
  int expv() const { return exp.to_int() - EXP_BIAS; }
  // 1.fraction: the digits of a normal number.
  ap_ufixed<kSig + 1, 1> mantissa() const {
    ap_ufixed<kSig + 1, 1> digits = 1;
    digits.range(kSig - 1, 0) = sig;
    return digits;
  }
  bool __signbit() const { return sign != 0; }

 private:
  void take(const data_type& bits) {
    sig = bits.range(kSig - 1, 0);
    exp = bits.range(kSig + kExp - 1, kSig);
    sign = bits.range(BITS - 1, BITS - 1);
  }
};

}  // namespace detail

template <typename T>
struct numeric_limits {
  static T max() { return std::numeric_limits<T>::max(); }
  static T min() { return std::numeric_limits<T>::min(); }
  static T epsilon() { return std::numeric_limits<T>::epsilon(); }
};

namespace detail {

template <typename T>
struct LowestLimits {
  static T max() { return std::numeric_limits<T>::max(); }
  static T min() { return std::numeric_limits<T>::lowest(); }
  // The distance of two neighbours.
  static T epsilon() {
    T value = 0;
    value[0] = 1;
    return value;
  }
};

}  // namespace detail

template <int W>
struct numeric_limits<ap_int<W>> : detail::LowestLimits<ap_int<W>> {};
template <int W>
struct numeric_limits<ap_uint<W>> : detail::LowestLimits<ap_uint<W>> {};
template <int W, int I, ap_q_mode Q, ap_o_mode O, int N>
struct numeric_limits<ap_fixed<W, I, Q, O, N>> : detail::LowestLimits<ap_fixed<W, I, Q, O, N>> {};
template <int W, int I, ap_q_mode Q, ap_o_mode O, int N>
struct numeric_limits<ap_ufixed<W, I, Q, O, N>> : detail::LowestLimits<ap_ufixed<W, I, Q, O, N>> {};

}  // namespace hls

template <typename T>
struct fp_struct;
template <>
struct fp_struct<float> : hls::detail::FloatFields<float, std::uint32_t, 8, 23> {
  using FloatFields::FloatFields;
  fp_struct() = default;
  float to_float() const { return to_ieee(); }
};
template <>
struct fp_struct<double> : hls::detail::FloatFields<double, std::uint64_t, 11, 52> {
  using FloatFields::FloatFields;
  fp_struct() = default;
  double to_double() const { return to_ieee(); }
};
template <>
struct fp_struct<half> : hls::detail::FloatFields<half, std::uint16_t, 5, 10> {
  using FloatFields::FloatFields;
  fp_struct() = default;
  half to_half() const { return to_ieee(); }
};

#include "../tandem_macros_end.h"
