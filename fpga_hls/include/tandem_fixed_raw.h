// SPDX-License-Identifier: Apache-2.0
//
// Part of hls_fft.h, hls_fir.h and hls_dds.h: numbers as integers of their least bit, and rounding.
//
// raw_of(x) is the number times two to the power of fraction_of<T>::value; set_raw() is the
// reverse, and keeps the low bits of a value that is too large (saturating types do so too).
// Integers have no fraction. At most 64 bits. C++11.
#pragma once

#include <type_traits>

#include "ap_fixed.h"
#include "ap_int.h"
#include "tandem_macros_begin.h"

namespace hls {
namespace core_detail {

typedef __int128 Wide;
typedef long long Raw;

template <typename T, typename = void>
struct fraction_of : std::integral_constant<int, 0> {};
template <int W, int I, ap_q_mode Q, ap_o_mode O, int N>
struct fraction_of<ap_fixed<W, I, Q, O, N>> : std::integral_constant<int, W - I> {};
template <int W, int I, ap_q_mode Q, ap_o_mode O, int N>
struct fraction_of<ap_ufixed<W, I, Q, O, N>> : std::integral_constant<int, W - I> {};

// `value` cut to its low `bits` bits, as a signed number.
inline Raw signed_bits(Wide value, int bits) {
  const int unused = 128 - bits;
  return static_cast<Raw>(static_cast<Wide>(static_cast<unsigned __int128>(value) << unused) >>
                          unused);
}

template <int W, int I, ap_q_mode Q, ap_o_mode O, int N>
Raw raw_of(const ap_fixed<W, I, Q, O, N>& value) {
  static_assert(W <= 64, "the DSP cores take numbers of at most 64 bits");
  return signed_bits(static_cast<Wide>(value.range(W - 1, 0).to_uint64()), W);
}
template <int W, int I, ap_q_mode Q, ap_o_mode O, int N>
Raw raw_of(const ap_ufixed<W, I, Q, O, N>& value) {
  static_assert(W < 64, "the DSP cores take unsigned numbers of at most 63 bits");
  return static_cast<Raw>(value.range(W - 1, 0).to_uint64());
}
template <typename T>
Raw raw_of(const T& value) {
  return static_cast<Raw>(value);
}

template <int W, int I, ap_q_mode Q, ap_o_mode O, int N>
void set_raw(ap_fixed<W, I, Q, O, N>& number, Wide value) {
  number.range(W - 1, 0) = ap_uint<W>(static_cast<unsigned long long>(value));
}
template <int W, int I, ap_q_mode Q, ap_o_mode O, int N>
void set_raw(ap_ufixed<W, I, Q, O, N>& number, Wide value) {
  number.range(W - 1, 0) = ap_uint<W>(static_cast<unsigned long long>(value));
}
template <typename T>
void set_raw(T& number, Wide value) {
  number = static_cast<T>(static_cast<Raw>(value));
}

enum class Rounding {
  down,
  half_down,
  half_up,
  half_to_zero,
  half_away,
  half_to_even,
  half_to_odd
};

// `value` divided by two to the power of `bits`; a multiplication if `bits` is negative.
inline Wide shifted(Wide value, int bits, Rounding rounding) {
  if (bits <= 0) return value * (static_cast<Wide>(1) << -bits);
  const Wide down = value >> bits;
  const Wide rest = value - (down << bits);
  const Wide half = static_cast<Wide>(1) << (bits - 1);
  if (rounding == Rounding::down || rest < half) return down;
  if (rest > half) return down + 1;
  bool up = rounding == Rounding::half_up;
  if (rounding == Rounding::half_to_zero) up = value < 0;
  if (rounding == Rounding::half_away) up = value > 0;
  if (rounding == Rounding::half_to_even) up = (down & 1) != 0;
  if (rounding == Rounding::half_to_odd) up = (down & 1) == 0;
  return up ? down + 1 : down;
}

}  // namespace core_detail
}  // namespace hls

#include "tandem_macros_end.h"
