// SPDX-License-Identifier: Apache-2.0
//
// hls:: mathematics for ap_fixed, ap_ufixed, ap_int and ap_uint. Included by hls_math.h.
//
// A result has the width and the integer bits of the argument, as the guide asks. Two exceptions
// lose nothing: sines and cosines have two integer bits, and a function that may be negative gives
// the result of an unsigned argument one more bit for the sign. Values are computed in long double
// and rounded to nearest; square roots are truncated, exactly. A value that the type cannot hold
// saturates. The argument's quantisation and overflow modes have no effect. Source: Vitis HLS user
// guide (UG1399), "Fixed-Point Math Functions". C++11.
#pragma once

#include "ap_fixed.h"
#include "hls_math.h"

#include "tandem_macros_begin.h"

namespace hls {
namespace math_detail {

// The plain fixed-point type of W bits, I of them before the point.
template <int W, int I, bool S>
struct Fixed {
  typedef typename std::conditional<S, ap_fixed<W, I>, ap_ufixed<W, I>>::type type;
  typedef ap_fixed_base<W, I, S, AP_RND_CONV, AP_SAT> Nearest;
  typedef ap_fixed_base<W, I, S, AP_TRN, AP_SAT> Cut;
};
// Result types for an argument D, an ap_fixed_base: the same type, a signed one, and the type of a
// sine.
template <typename D>
struct Shapes {
  static constexpr int kMore = D::is_signed ? 0 : 1;
  typedef Fixed<D::width, D::iwidth, D::is_signed> Same;
  typedef Fixed<D::width + kMore, D::iwidth + kMore, true> Signed;
  typedef Fixed<ap_detail::larger(D::kFraction, 0) + 2, 2, true> Sine;
};

template <typename D>
long double real_of(const D& x) {
  return std::ldexp(static_cast<long double>(static_cast<ap_detail::Int128>(x.bits().low128())),
                    -D::kFraction);
}
// `value` in the type of a shape; NaN becomes 0.
template <typename Shape>
typename Shape::type nearest(long double value) {
  typename Shape::type result;
  result.bits() = typename Shape::Nearest(value).bits();
  return result;
}

// The exact square root, cut to the argument's last bit.
template <typename D>
typename Shapes<D>::Same::type square_root(const D& x) {
  typename Shapes<D>::Same::type result(0);
  if (x.is_neg()) return result;
  // root^2 <= value 2^F: both as whole numbers in units of 2^-F.
  constexpr int kShift = ap_detail::larger(D::kFraction, 0);
  typedef ap_int_base<2 * (D::width + kShift) + 2, false> Wide;
  const Wide value = D::kFraction >= 0 ? Wide(x.bits()).shifted_left(kShift)
                                       : Wide(x.bits()).shifted_right(-D::kFraction);
  Wide root(0);
  for (int at = (D::width + kShift) / 2; at >= 0; --at) {
    Wide next(root);
    next.set_bit(at, true);
    if (Wide(next * next) <= value) root = next;
  }
  result.bits() = root;
  return result;
}

}  // namespace math_detail

#define TANDEM_MATH_FIXED(name, shape, expression)                                             \
  template <typename D>                                                                        \
  typename math_detail::Shapes<D>::shape::type name(const ap_detail::FixedNumber<D>& number) { \
    const long double x = math_detail::real_of(number.self());                                 \
    return math_detail::nearest<typename math_detail::Shapes<D>::shape>(expression);           \
  }                                                                                            \
  template <typename D>                                                                        \
  auto name(const ap_detail::Number<D>& number)->decltype(name(ap_detail::as_fixed(number))) { \
    return name(ap_detail::as_fixed(number));                                                  \
  }
TANDEM_MATH_FIXED(sin, Sine, std::sin(x))
TANDEM_MATH_FIXED(cos, Sine, std::cos(x))
TANDEM_MATH_FIXED(sinpi, Sine, math_detail::sin_pi(x))
TANDEM_MATH_FIXED(cospi, Sine, math_detail::cos_pi(x))
TANDEM_MATH_FIXED(tan, Signed, std::tan(x))
TANDEM_MATH_FIXED(asin, Signed, std::asin(x))
TANDEM_MATH_FIXED(acos, Signed, std::acos(x))
TANDEM_MATH_FIXED(atan, Signed, std::atan(x))
TANDEM_MATH_FIXED(sinh, Signed, std::sinh(x))
TANDEM_MATH_FIXED(cosh, Same, std::cosh(x))
TANDEM_MATH_FIXED(tanh, Signed, std::tanh(x))
TANDEM_MATH_FIXED(asinh, Signed, std::asinh(x))
TANDEM_MATH_FIXED(acosh, Same, std::acosh(x))
TANDEM_MATH_FIXED(atanh, Signed, std::atanh(x))
TANDEM_MATH_FIXED(exp, Same, std::exp(x))
TANDEM_MATH_FIXED(exp2, Same, std::exp2(x))
TANDEM_MATH_FIXED(exp10, Same, std::pow(10.0L, x))
TANDEM_MATH_FIXED(expm1, Signed, std::expm1(x))
TANDEM_MATH_FIXED(log, Signed, std::log(x))
TANDEM_MATH_FIXED(log2, Signed, std::log2(x))
TANDEM_MATH_FIXED(log10, Signed, std::log10(x))
TANDEM_MATH_FIXED(log1p, Signed, std::log1p(x))
TANDEM_MATH_FIXED(rsqrt, Same, 1 / std::sqrt(x))
TANDEM_MATH_FIXED(recip, Same, 1 / x)
TANDEM_MATH_FIXED(cbrt, Same, std::cbrt(x))
TANDEM_MATH_FIXED(erf, Signed, std::erf(x))
TANDEM_MATH_FIXED(erfc, Same, std::erfc(x))
TANDEM_MATH_FIXED(ceil, Same, std::ceil(x))
TANDEM_MATH_FIXED(floor, Same, std::floor(x))
TANDEM_MATH_FIXED(trunc, Same, std::trunc(x))
TANDEM_MATH_FIXED(round, Same, std::round(x))
TANDEM_MATH_FIXED(rint, Same, std::rint(x))
TANDEM_MATH_FIXED(nearbyint, Same, std::rint(x))
TANDEM_MATH_FIXED(fabs, Same, std::fabs(x))
TANDEM_MATH_FIXED(abs, Same, std::fabs(x))
TANDEM_MATH_FIXED(fract, Same, x - std::floor(x))
#undef TANDEM_MATH_FIXED

template <typename D>
typename math_detail::Shapes<D>::Same::type sqrt(const ap_detail::FixedNumber<D>& x) {
  return math_detail::square_root(x.self());
}
// The square root of an integer is an integer.
template <int W, bool S>
typename std::conditional<S, ap_int<W>, ap_uint<W>>::type sqrt(const ap_int_base<W, S>& x) {
  return math_detail::square_root(ap_detail::as_fixed(x)).bits();
}

#define TANDEM_MATH_FIXED(name, shape, expression)                                             \
  template <typename A, typename B>                                                            \
  typename math_detail::Shapes<A>::shape::type name(const ap_detail::FixedNumber<A>& first,    \
                                                    const ap_detail::FixedNumber<B>& second) { \
    const long double x = math_detail::real_of(first.self());                                  \
    const long double y = math_detail::real_of(second.self());                                 \
    return math_detail::nearest<typename math_detail::Shapes<A>::shape>(expression);           \
  }
TANDEM_MATH_FIXED(atan2, Signed, std::atan2(x, y))
TANDEM_MATH_FIXED(hypot, Same, std::hypot(x, y))
TANDEM_MATH_FIXED(pow, Same, std::pow(x, y))
TANDEM_MATH_FIXED(fmod, Same, std::fmod(x, y))
TANDEM_MATH_FIXED(remainder, Signed, std::remainder(x, y))
TANDEM_MATH_FIXED(divide, Same, x / y)
TANDEM_MATH_FIXED(copysign, Signed, std::copysign(x, y))
TANDEM_MATH_FIXED(fdim, Same, std::fdim(x, y))
TANDEM_MATH_FIXED(fmax, Same, std::fmax(x, y))
TANDEM_MATH_FIXED(fmin, Same, std::fmin(x, y))
TANDEM_MATH_FIXED(maxmag, Same, math_detail::maxmag(x, y))
TANDEM_MATH_FIXED(minmag, Same, math_detail::minmag(x, y))
#undef TANDEM_MATH_FIXED

template <typename D>
typename math_detail::Shapes<D>::Same::type pow(const ap_detail::FixedNumber<D>& base,
                                                int exponent) {
  return math_detail::nearest<typename math_detail::Shapes<D>::Same>(
      std::pow(math_detail::real_of(base.self()), static_cast<long double>(exponent)));
}
template <typename D>
typename math_detail::Shapes<D>::Same::type pown(const ap_detail::FixedNumber<D>& base,
                                                 int exponent) {
  return hls::pow(base, exponent);
}
template <typename D>
typename math_detail::Shapes<D>::Same::type ldexp(const ap_detail::FixedNumber<D>& x,
                                                  int exponent) {
  return math_detail::nearest<typename math_detail::Shapes<D>::Same>(
      std::ldexp(math_detail::real_of(x.self()), exponent));
}
template <typename D, typename R>
typename math_detail::Shapes<D>::Same::type modf(const ap_detail::FixedNumber<D>& x, R* whole) {
  long double part;
  const long double rest = std::modf(math_detail::real_of(x.self()), &part);
  *whole = math_detail::nearest<typename math_detail::Shapes<D>::Same>(part);
  return math_detail::nearest<typename math_detail::Shapes<D>::Same>(rest);
}
template <typename D>
int ilogb(const ap_detail::FixedNumber<D>& x) {
  return std::ilogb(math_detail::real_of(x.self()));
}
template <typename D>
bool signbit(const ap_detail::FixedNumber<D>& x) {
  return x.self().is_neg();
}
template <typename D, typename R1, typename R2>
void sincos(const ap_detail::FixedNumber<D>& x, R1* sine, R2* cosine) {
  *sine = hls::sin(x);
  *cosine = hls::cos(x);
}

}  // namespace hls

#include "tandem_macros_end.h"
