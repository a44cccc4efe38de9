// SPDX-License-Identifier: Apache-2.0
//
// hls:: mathematics for half, float and double. hls_math_fixed.h has fixed-point numbers and
// integers.
//
// float and double give the C library's results. half computes in double and rounds once more.
// Every function f has funcf for float and half_func for half. Functions of multiples of pi are
// exact at multiples of one half. Source: Vitis HLS user guide (UG1399), "HLS Math Library". C++11.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "hls_half.h"

#include "tandem_macros_begin.h"

namespace hls {
namespace math_detail {

constexpr long double kPi = 3.141592653589793238462643383279502884L;

// sin(pi x); x is finite.
inline long double sin_pi(long double x) {
  long double turn = std::fmod(x, 2.0L);
  if (turn < 0) turn += 2;
  const bool negative = turn >= 1;
  if (negative) turn -= 1;
  if (turn > 0.5L) turn = 1 - turn;
  if (turn == 0) return 0;
  const long double value = std::sin(kPi * turn);
  return negative ? -value : value;
}
inline long double cos_pi(long double x) { return sin_pi(std::fmod(x, 2.0L) + 0.5L); }

template <typename T>
T sinpi(T x) {
  return std::isfinite(x) ? static_cast<T>(sin_pi(x)) : x - x;
}
template <typename T>
T cospi(T x) {
  return std::isfinite(x) ? static_cast<T>(cos_pi(x)) : x - x;
}
template <typename T>
T tanpi(T x) {
  return std::isfinite(x) ? static_cast<T>(sin_pi(x) / cos_pi(x)) : x - x;
}
template <typename T>
T asinpi(T x) {
  return static_cast<T>(std::asin(static_cast<long double>(x)) / kPi);
}
template <typename T>
T acospi(T x) {
  return static_cast<T>(std::acos(static_cast<long double>(x)) / kPi);
}
template <typename T>
T atanpi(T x) {
  return static_cast<T>(std::atan(static_cast<long double>(x)) / kPi);
}
template <typename T>
T atan2pi(T y, T x) {
  return static_cast<T>(std::atan2(static_cast<long double>(y), static_cast<long double>(x)) / kPi);
}
template <typename T>
T exp10(T x) {
  return static_cast<T>(std::pow(10.0L, static_cast<long double>(x)));
}
template <typename T>
T rsqrt(T x) {
  return static_cast<T>(1 / std::sqrt(static_cast<long double>(x)));
}
template <typename T>
T recip(T x) {
  return 1 / x;
}
template <typename T>
T fract(T x) {
  const T rest = x - std::floor(x);
  return rest < 1 ? rest : std::nextafter(T(1), T(0));
}
template <typename T>
T divide(T x, T y) {
  return x / y;
}
template <typename T>
T powr(T x, T y) {
  return x < 0 ? std::numeric_limits<T>::quiet_NaN() : std::pow(x, y);
}
template <typename T>
T maxmag(T x, T y) {
  return std::fabs(x) > std::fabs(y) ? x : (std::fabs(y) > std::fabs(x) ? y : std::fmax(x, y));
}
template <typename T>
T minmag(T x, T y) {
  return std::fabs(x) < std::fabs(y) ? x : (std::fabs(y) < std::fabs(x) ? y : std::fmin(x, y));
}
template <typename T>
T mad(T x, T y, T z) {
  return x * y + z;
}

}  // namespace math_detail

// Functions of the C library: its overloads, and those of float and half by name.
#define TANDEM_MATH_1(name)                                                    \
  using std::name;                                                             \
  inline float name##f(float x) { return std::name(x); }                       \
  inline half name(half x) { return half(std::name(static_cast<double>(x))); } \
  inline half half_##name(half x) { return hls::name(x); }
TANDEM_MATH_1(acos)
TANDEM_MATH_1(asin)
TANDEM_MATH_1(atan)
TANDEM_MATH_1(cos)
TANDEM_MATH_1(sin)
TANDEM_MATH_1(tan)
TANDEM_MATH_1(acosh)
TANDEM_MATH_1(asinh)
TANDEM_MATH_1(atanh)
TANDEM_MATH_1(cosh)
TANDEM_MATH_1(sinh)
TANDEM_MATH_1(tanh)
TANDEM_MATH_1(exp)
TANDEM_MATH_1(exp2)
TANDEM_MATH_1(expm1)
TANDEM_MATH_1(log)
TANDEM_MATH_1(log10)
TANDEM_MATH_1(log1p)
TANDEM_MATH_1(log2)
TANDEM_MATH_1(logb)
TANDEM_MATH_1(cbrt)
TANDEM_MATH_1(sqrt)
TANDEM_MATH_1(erf)
TANDEM_MATH_1(erfc)
TANDEM_MATH_1(lgamma)
TANDEM_MATH_1(tgamma)
TANDEM_MATH_1(ceil)
TANDEM_MATH_1(floor)
TANDEM_MATH_1(nearbyint)
TANDEM_MATH_1(rint)
TANDEM_MATH_1(round)
TANDEM_MATH_1(trunc)
TANDEM_MATH_1(fabs)
#undef TANDEM_MATH_1

#define TANDEM_MATH_2(name)                                                 \
  using std::name;                                                          \
  inline float name##f(float x, float y) { return std::name(x, y); }        \
  inline half name(half x, half y) {                                        \
    return half(std::name(static_cast<double>(x), static_cast<double>(y))); \
  }                                                                         \
  inline half half_##name(half x, half y) { return hls::name(x, y); }
TANDEM_MATH_2(atan2)
TANDEM_MATH_2(hypot)
TANDEM_MATH_2(pow)
TANDEM_MATH_2(fmod)
TANDEM_MATH_2(remainder)
TANDEM_MATH_2(copysign)
TANDEM_MATH_2(fdim)
TANDEM_MATH_2(fmax)
TANDEM_MATH_2(fmin)
#undef TANDEM_MATH_2

// Functions of OpenCL that the C library lacks.
#define TANDEM_MATH_OWN_1(name)                                                        \
  inline double name(double x) { return math_detail::name(x); }                        \
  inline float name(float x) { return math_detail::name(x); }                          \
  inline float name##f(float x) { return math_detail::name(x); }                       \
  inline half name(half x) { return half(math_detail::name(static_cast<double>(x))); } \
  inline half half_##name(half x) { return hls::name(x); }
TANDEM_MATH_OWN_1(sinpi)
TANDEM_MATH_OWN_1(cospi)
TANDEM_MATH_OWN_1(tanpi)
TANDEM_MATH_OWN_1(asinpi)
TANDEM_MATH_OWN_1(acospi)
TANDEM_MATH_OWN_1(atanpi)
TANDEM_MATH_OWN_1(exp10)
TANDEM_MATH_OWN_1(rsqrt)
TANDEM_MATH_OWN_1(recip)
TANDEM_MATH_OWN_1(fract)
#undef TANDEM_MATH_OWN_1

#define TANDEM_MATH_OWN_2(name)                                                     \
  inline double name(double x, double y) { return math_detail::name(x, y); }        \
  inline float name(float x, float y) { return math_detail::name(x, y); }           \
  inline float name##f(float x, float y) { return math_detail::name(x, y); }        \
  inline half name(half x, half y) {                                                \
    return half(math_detail::name(static_cast<double>(x), static_cast<double>(y))); \
  }                                                                                 \
  inline half half_##name(half x, half y) { return hls::name(x, y); }
TANDEM_MATH_OWN_2(atan2pi)
TANDEM_MATH_OWN_2(divide)
TANDEM_MATH_OWN_2(powr)
TANDEM_MATH_OWN_2(maxmag)
TANDEM_MATH_OWN_2(minmag)
#undef TANDEM_MATH_OWN_2

using std::abs;
using std::fma;
using std::frexp;
using std::ilogb;
using std::ldexp;
using std::llrint;
using std::llround;
using std::lrint;
using std::lround;
using std::modf;
using std::nan;
using std::nextafter;
using std::nexttoward;
using std::remquo;

inline half abs(half x) { return hls::fabs(x); }
inline half half_abs(half x) { return hls::fabs(x); }
inline half fma(half x, half y, half z) {
  return half(std::fma(static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)));
}
inline half half_fma(half x, half y, half z) { return hls::fma(x, y, z); }
inline double mad(double x, double y, double z) { return math_detail::mad(x, y, z); }
inline float mad(float x, float y, float z) { return math_detail::mad(x, y, z); }
inline half mad(half x, half y, half z) { return half(x * y) + z; }
inline half half_mad(half x, half y, half z) { return hls::mad(x, y, z); }
inline half frexp(half x, int* exponent) {
  return half(std::frexp(static_cast<float>(x), exponent));
}
inline half ldexp(half x, int exponent) {
  return half(std::ldexp(static_cast<double>(x), exponent));
}
inline half modf(half x, half* whole) {
  float part;
  const float rest = std::modf(static_cast<float>(x), &part);
  *whole = half(part);
  return half(rest);
}
inline int ilogb(half x) { return std::ilogb(static_cast<float>(x)); }
inline long lrint(half x) { return std::lrint(static_cast<float>(x)); }
inline long lround(half x) { return std::lround(static_cast<float>(x)); }
inline long long llrint(half x) { return std::llrint(static_cast<float>(x)); }
inline long long llround(half x) { return std::llround(static_cast<float>(x)); }
inline half remquo(half x, half y, int* quotient) {
  return half(std::remquo(static_cast<float>(x), static_cast<float>(y), quotient));
}
inline half nextafter(half x, half y) {
  if (!(x == x) || !(y == y)) return half(x + y);
  if (x == y) return y;
  const std::uint16_t bits = x.get_bits();
  if ((bits & 0x7fff) == 0) return half::from_bits(y < x ? 0x8001 : 0x0001);
  const bool outwards = (x < y) == ((bits & 0x8000) == 0);
  return half::from_bits(static_cast<std::uint16_t>(outwards ? bits + 1 : bits - 1));
}

#define TANDEM_MATH_SINCOS(T)                   \
  inline void sincos(T x, T* sine, T* cosine) { \
    *sine = hls::sin(x);                        \
    *cosine = hls::cos(x);                      \
  }
TANDEM_MATH_SINCOS(half)
TANDEM_MATH_SINCOS(float)
TANDEM_MATH_SINCOS(double)
#undef TANDEM_MATH_SINCOS
template <typename T>
inline T pown(T x, int y) {
  return T(std::pow(static_cast<double>(x), y));
}
template <typename T>
inline T rootn(T x, int y) {
  const double root = std::pow(std::fabs(static_cast<double>(x)), 1.0 / y);
  return T(x < T(0) && y % 2 != 0 ? -root : root);
}
template <typename T>
inline T lgamma_r(T x, int* sign) {
  const double value = ::lgamma_r(static_cast<double>(x), sign);
  return T(value);
}
template <typename T>
inline const T& max(const T& x, const T& y) {
  return x < y ? y : x;
}
template <typename T>
inline const T& min(const T& x, const T& y) {
  return y < x ? y : x;
}

#define TANDEM_MATH_CLASS(name) \
  using std::name;              \
  inline bool name(half x) { return std::name(static_cast<float>(x)); }
TANDEM_MATH_CLASS(isfinite)
TANDEM_MATH_CLASS(isinf)
TANDEM_MATH_CLASS(isnan)
TANDEM_MATH_CLASS(signbit)
#undef TANDEM_MATH_CLASS
using std::fpclassify;
using std::isnormal;
inline int fpclassify(half x) {
  if (x == half(0.0f)) return FP_ZERO;
  if ((x.get_bits() & 0x7c00) == 0) return FP_SUBNORMAL;
  return std::fpclassify(static_cast<float>(x));
}
inline bool isnormal(half x) { return fpclassify(x) == FP_NORMAL; }

#define TANDEM_MATH_COMPARE(name)                                   \
  using std::name;                                                  \
  inline bool name(half x, half y) {                                \
    return std::name(static_cast<float>(x), static_cast<float>(y)); \
  }
TANDEM_MATH_COMPARE(isgreater)
TANDEM_MATH_COMPARE(isgreaterequal)
TANDEM_MATH_COMPARE(isless)
TANDEM_MATH_COMPARE(islessequal)
TANDEM_MATH_COMPARE(islessgreater)
TANDEM_MATH_COMPARE(isunordered)
#undef TANDEM_MATH_COMPARE
template <typename T>
inline bool isequal(T x, T y) {
  return x == y;
}
template <typename T>
inline bool isnotequal(T x, T y) {
  return x != y;
}

}  // namespace hls

#include "hls_math_fixed.h"

#include "tandem_macros_end.h"
