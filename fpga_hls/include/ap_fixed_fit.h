// SPDX-License-Identifier: Apache-2.0
//
// Rounds an exact value to a fixed-point number of W bits. The quantisation mode decides about the
// bits below the last one, the overflow mode about a value out of range.
//
// Values come as integers in units of 2^-F2; the result is an integer in units of 2^-F.
// Quantisation comes before overflow. The guide does not define sign-magnitude wrapping of unsigned
// numbers; here it wraps. An infinite floating-point value counts as very large, NaN as 0. Cost:
// truncation and wrapping are a shift; the other modes compute in 64 or 128-bit integers where
// value and result fit. Source: Vitis HLS user guide (UG1399), "Quantization Modes", "Overflow
// Modes"; IEEE 1666-2011, 7.10. C++11.
#pragma once

#include "ap_int_ops.h"

#include "tandem_macros_begin.h"

enum ap_q_mode {
  AP_RND,
  AP_RND_ZERO,
  AP_RND_MIN_INF,
  AP_RND_INF,
  AP_RND_CONV,
  AP_TRN,
  AP_TRN_ZERO
};
enum ap_o_mode { AP_SAT, AP_SAT_ZERO, AP_SAT_SYM, AP_WRAP, AP_WRAP_SM };

namespace ap_detail {

// A signed integer of at least K bits.
template <int K>
struct Work {
  typedef typename std::conditional<
      K <= 64, std::int64_t,
      typename std::conditional<K <= 128, Int128, ap_int_base<K, true>>::type>::type type;
};
template <typename N>
std::int64_t to_work(const N& number, std::int64_t) {
  return static_cast<std::int64_t>(number.low64());
}
template <typename N>
Int128 to_work(const N& number, Int128) {
  return static_cast<Int128>(number.low128());
}
template <typename N, int K>
ap_int_base<K, true> to_work(const N& number, ap_int_base<K, true>) {
  return ap_int_base<K, true>(number);
}

// Returns value * 2^by, also for negative values. The result must fit its type.
inline std::int64_t lifted(std::int64_t value, int by) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << by);
}
inline Int128 lifted(Int128 value, int by) {
  return static_cast<Int128>(static_cast<Uint128>(value) << by);
}
template <int K>
ap_int_base<K, true> lifted(const ap_int_base<K, true>& value, int by) {
  return value.shifted_left(by);
}

// Whether `whole` plus a fraction rounds up. `half` compares the fraction, which is not 0, with
// 1/2. `negative` is the value's sign.
template <ap_q_mode Q>
bool goes_up(int half, bool negative, bool odd) {
  if (Q == AP_TRN) return false;
  if (Q == AP_TRN_ZERO) return negative;
  if (half != 0) return half > 0;
  return Q == AP_RND || (Q == AP_RND_ZERO && negative) || (Q == AP_RND_INF && !negative) ||
         (Q == AP_RND_CONV && odd);
}

// value / 2^drop as a whole number; 1 <= drop, and T holds 2^drop.
template <ap_q_mode Q, typename T>
T quantised(const T& value, int drop) {
  const T whole(value >> drop);
  if (Q == AP_TRN) return whole;
  const T rest(value - lifted(whole, drop));
  if (rest == T(0)) return whole;
  const T half = lifted(T(1), drop - 1);
  const int against = rest == half ? 0 : (rest > half ? 1 : -1);
  return goes_up<Q>(against, value < T(0), T(whole & T(1)) != T(0)) ? T(whole + T(1)) : whole;
}

// Wrapping that keeps the N highest bits saturated, and by sign and magnitude. `deleted`: the
// lowest bit of those cut off.
template <ap_o_mode O, int N, int W, bool S>
ap_int_base<W, S> wrapped(ap_int_base<W, S> bits, bool negative, bool deleted) {
  if (O == AP_WRAP_SM && S) {
    const bool sign = N == 0 ? deleted : negative;
    const bool guide = N > 1 && N <= W ? !bits.test(W - N) : bits.test(W - 1);
    if (guide != sign) bits.b_not();
    bits.set_bit(W - 1, sign);
  }
  if (N == 0) return bits;
  if (S) bits.set_bit(W - 1, negative);
  for (int at = W - (S ? 2 : 1); at >= 0 && at >= W - N; --at) bits.set_bit(at, !S || !negative);
  return bits;
}

// Returns a whole number as W bits. T must hold 2^(W + 1).
template <ap_o_mode O, int N, int W, bool S, typename T>
ap_int_base<W, S> bounded(const T& value) {
  typedef ap_int_base<W, S> Bits;
  if (O == AP_WRAP && N == 0) return Bits(value);
  const T high(lifted(T(1), S ? W - 1 : W) - T(1));
  const T low = S ? T(T(-1) - high) : T(0);
  const T lowest = O == AP_SAT_SYM && S ? T(T(0) - high) : low;
  if (value <= high && value >= lowest) return Bits(value);
  const bool negative = value < T(0);
  switch (O) {
    case AP_SAT:
      return Bits(negative ? low : high);
    case AP_SAT_ZERO:
      return Bits(0);
    case AP_SAT_SYM:
      return Bits(negative ? lowest : high);
    default:
      return wrapped<O, N>(Bits(value), negative, T(T(value >> W) & T(1)) != T(0));
  }
}

// Returns `number` / 2^Drop as W bits.
template <ap_q_mode Q, ap_o_mode O, int N, int W, bool S, int Drop>
struct Fit {
  static constexpr int kLeft = Drop < 0 ? -Drop : 0;
  static constexpr int kRight = Drop > 0 ? Drop : 0;
  static constexpr bool kPlain = (Drop <= 0 || Q == AP_TRN) && O == AP_WRAP && N == 0;

  template <typename A>
  static ap_int_base<W, S> of(const A& number) {
    return of(number, std::integral_constant<bool, kPlain>());
  }

 private:
  template <typename A>
  static ap_int_base<W, S> of(const A& number, std::true_type) {
    return Drop > 0 ? ap_int_base<W, S>(number.shifted_right(kRight))
                    : ap_int_base<W, S>(number).shifted_left(kLeft);
  }
  template <typename A>
  static ap_int_base<W, S> of(const A& number, std::false_type) {
    typedef typename Work<larger(larger(A::width + 2 + kLeft, kRight + 2), W + 3)>::type T;
    const T exact = to_work(number, T());
    return bounded<O, N, W, S>(Drop > 0 ? quantised<Q>(exact, larger(kRight, 1))
                                        : lifted(exact, kLeft));
  }
};

// Returns exactly 2^exponent.
template <typename Real>
constexpr Real squared(Real value) {
  return value * value;
}
template <typename Real>
constexpr Real power_of_two(int exponent) {
  return exponent < 0    ? 1 / power_of_two<Real>(-exponent)
         : exponent == 0 ? Real(1)
                         : (exponent % 2 != 0 ? 2 : 1) * squared(power_of_two<Real>(exponent / 2));
}

// Returns value * 2^F as W bits, for any finite value.
template <ap_q_mode Q, ap_o_mode O, int N, int W, bool S, typename Real>
ap_int_base<W, S> fit_exactly(Real value, int fraction_bits) {
  typedef typename Work<W + 70>::type T;
  const Dissected parts(value);
  T digits(parts.digits);
  if (parts.negative) digits = T(T(0) - digits);
  // Larger shifts than these limits give the same result.
  const int exponent = parts.exponent + fraction_bits;
  if (exponent < 0) return bounded<O, N, W, S>(quantised<Q>(digits, smaller(-exponent, 67)));
  return bounded<O, N, W, S>(lifted(digits, smaller(exponent, W + 2)));
}

// Replaces infinity by the largest finite value.
template <typename Real>
Real finite(Real value) {
  constexpr Real kLargest = std::numeric_limits<Real>::max();
  return value > kLargest ? kLargest : (value < -kLargest ? -kLargest : value);
}

template <ap_q_mode Q, ap_o_mode O, int N, int W, bool S, int F, typename Real>
ap_int_base<W, S> fit_real(Real value, std::false_type) {
  return fit_exactly<Q, O, N, W, S>(finite(value), F);
}
// The value in units of 2^-F is a double, and its whole part mostly an int64.
template <ap_q_mode Q, ap_o_mode O, int N, int W, bool S, int F>
ap_int_base<W, S> fit_real(double value, std::true_type) {
  const double scaled = value * power_of_two<double>(F);
  if (!(scaled > -4e18 && scaled < 4e18)) {
    return fit_exactly<Q, O, N, W, S>(finite(value), F);
  }
  std::int64_t whole = static_cast<std::int64_t>(scaled);
  if (static_cast<double>(whole) > scaled) --whole;
  const double rest = scaled - static_cast<double>(whole);
  const int half = rest == 0.5 ? 0 : (rest > 0.5 ? 1 : -1);
  if (rest != 0 && goes_up<Q>(half, scaled < 0, (whole & 1) != 0)) ++whole;
  return bounded<O, N, W, S>(whole);
}
template <ap_q_mode Q, ap_o_mode O, int N, int W, bool S, int F, typename Real>
ap_int_base<W, S> fit_real(Real value) {
  constexpr bool kInWords = std::is_same<Real, double>::value && W <= 60 && F >= 0 && F <= 900;
  return fit_real<Q, O, N, W, S, F>(value, std::integral_constant<bool, kInWords>());
}

}  // namespace ap_detail

#include "tandem_macros_end.h"
