// SPDX-License-Identifier: Apache-2.0
//
// Mathematical functions for float and double, scalars and vectors.
//
// The scalar forms are those of the C library; their rounding errors are smaller than OpenCL
// requires. The native_ and half_ forms are as precise as the plain ones. Source: OpenCL C 2.0,
// section 6.13.2.
#pragma once

#include "overloads.h"

#define TANDEM_MATH1(name)                                               \
  TANDEM_OVERLOAD float name(float a) { return __builtin_##name##f(a); } \
  TANDEM_OVERLOAD double name(double a) { return __builtin_##name(a); }  \
  TANDEM_WIDTHS(TANDEM_MAP1, float, name, float) TANDEM_WIDTHS(TANDEM_MAP1, double, name, double)
#define TANDEM_MATH2(name)                                                           \
  TANDEM_OVERLOAD float name(float a, float b) { return __builtin_##name##f(a, b); } \
  TANDEM_OVERLOAD double name(double a, double b) { return __builtin_##name(a, b); } \
  TANDEM_WIDTHS(TANDEM_MAP2, float, name, float, float)                              \
  TANDEM_WIDTHS(TANDEM_MAP2, double, name, double, double)
#define TANDEM_OWN1(T, U, f, expression)               \
  TANDEM_OVERLOAD T f(T a) { return (T)(expression); } \
  TANDEM_WIDTHS(TANDEM_MAP1, T, f, T)

// clang-format off
TANDEM_MATH1(acos) TANDEM_MATH1(acosh) TANDEM_MATH1(asin) TANDEM_MATH1(asinh) TANDEM_MATH1(atan)
TANDEM_MATH1(atanh) TANDEM_MATH1(cbrt) TANDEM_MATH1(ceil) TANDEM_MATH1(cos) TANDEM_MATH1(cosh)
TANDEM_MATH1(erf) TANDEM_MATH1(erfc) TANDEM_MATH1(exp) TANDEM_MATH1(exp2) TANDEM_MATH1(expm1)
TANDEM_MATH1(fabs) TANDEM_MATH1(floor) TANDEM_MATH1(lgamma) TANDEM_MATH1(log) TANDEM_MATH1(log10)
TANDEM_MATH1(log1p) TANDEM_MATH1(log2) TANDEM_MATH1(logb) TANDEM_MATH1(rint) TANDEM_MATH1(round)
TANDEM_MATH1(sin) TANDEM_MATH1(sinh) TANDEM_MATH1(sqrt) TANDEM_MATH1(tan) TANDEM_MATH1(tanh)
TANDEM_MATH1(tgamma) TANDEM_MATH1(trunc) TANDEM_MATH2(atan2) TANDEM_MATH2(copysign)
TANDEM_MATH2(fdim) TANDEM_MATH2(fmax) TANDEM_MATH2(fmin) TANDEM_MATH2(fmod) TANDEM_MATH2(hypot)
TANDEM_MATH2(nextafter) TANDEM_MATH2(pow) TANDEM_MATH2(remainder)

#define TANDEM_PI 3.14159265358979323846
TANDEM_FLOATS(TANDEM_OWN1, rsqrt, 1 / sqrt((double)a))
TANDEM_FLOATS(TANDEM_OWN1, exp10, pow(10.0, (double)a))
TANDEM_FLOATS(TANDEM_OWN1, acospi, acos((double)a) / TANDEM_PI)
TANDEM_FLOATS(TANDEM_OWN1, asinpi, asin((double)a) / TANDEM_PI)
TANDEM_FLOATS(TANDEM_OWN1, atanpi, atan((double)a) / TANDEM_PI)
TANDEM_FLOATS(TANDEM_OWN1, cospi, cos(fmod((double)a, 2.0) * TANDEM_PI))
TANDEM_FLOATS(TANDEM_OWN1, sinpi, sin(fmod((double)a, 2.0) * TANDEM_PI))
TANDEM_FLOATS(TANDEM_OWN1, tanpi, tan(fmod((double)a, 1.0) * TANDEM_PI))
// clang-format on

#define TANDEM_MATH_OF_TYPE(T, U, ...)                                                 \
  TANDEM_WIDTHS(TANDEM_MAP2_LAST, T, fmax, T, T)                                       \
  TANDEM_WIDTHS(TANDEM_MAP2_LAST, T, fmin, T, T) TANDEM_OVERLOAD T atan2pi(T a, T b) { \
    return (T)(atan2((double)a, (double)b) / TANDEM_PI);                               \
  }                                                                                    \
  TANDEM_WIDTHS(TANDEM_MAP2, T, atan2pi, T, T)                                         \
  TANDEM_OVERLOAD T powr(T a, T b) { return pow(a, b); }                               \
  TANDEM_WIDTHS(TANDEM_MAP2, T, powr, T, T)                                            \
  TANDEM_OVERLOAD T pown(T a, int b) { return (T)pow((double)a, (double)b); }          \
  TANDEM_WIDTHS(TANDEM_MAP2, T, pown, T, int)                                          \
  TANDEM_OVERLOAD T rootn(T a, int b) {                                                \
    const double root = pow(fabs((double)a), 1.0 / b);                                 \
    return (T)(a < 0 ? ((b & 1) ? -root : __builtin_nan("")) : root);                  \
  }                                                                                    \
  TANDEM_WIDTHS(TANDEM_MAP2, T, rootn, T, int)                                         \
  TANDEM_OVERLOAD T maxmag(T a, T b) {                                                 \
    return fabs(a) > fabs(b) ? a : fabs(b) > fabs(a) ? b : fmax(a, b);                 \
  }                                                                                    \
  TANDEM_WIDTHS(TANDEM_MAP2, T, maxmag, T, T)                                          \
  TANDEM_OVERLOAD T minmag(T a, T b) {                                                 \
    return fabs(a) < fabs(b) ? a : fabs(b) < fabs(a) ? b : fmin(a, b);                 \
  }                                                                                    \
  TANDEM_WIDTHS(TANDEM_MAP2, T, minmag, T, T)                                          \
  TANDEM_OVERLOAD T mad(T a, T b, T c) { return a * b + c; }                           \
  TANDEM_WIDTHS(TANDEM_MAP3, T, mad, T, T, T)
    // clang-format off
TANDEM_FLOATS(TANDEM_MATH_OF_TYPE, )
#undef TANDEM_MATH_OF_TYPE

TANDEM_OVERLOAD float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// clang-format on
TANDEM_OVERLOAD double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
TANDEM_WIDTHS(TANDEM_MAP3, float, fma, float, float, float)
TANDEM_WIDTHS(TANDEM_MAP3, double, fma, double, double, double)
TANDEM_OVERLOAD float ldexp(float a, int b) { return __builtin_ldexpf(a, b); }
TANDEM_OVERLOAD double ldexp(double a, int b) { return __builtin_ldexp(a, b); }
TANDEM_WIDTHS(TANDEM_MAP2, float, ldexp, float, int)
TANDEM_WIDTHS(TANDEM_MAP2_LAST, float, ldexp, float, int)
TANDEM_WIDTHS(TANDEM_MAP2, double, ldexp, double, int)
TANDEM_WIDTHS(TANDEM_MAP2_LAST, double, ldexp, double, int)
TANDEM_OVERLOAD int ilogb(float a) { return __builtin_ilogbf(a); }
TANDEM_OVERLOAD int ilogb(double a) { return __builtin_ilogb(a); }
TANDEM_WIDTHS(TANDEM_MAP1, int, ilogb, float)
TANDEM_WIDTHS(TANDEM_MAP1, int, ilogb, double)
TANDEM_OVERLOAD float nan(uint code) { return as_float(0x7fc00000u | (code & 0x3fffffu)); }
TANDEM_OVERLOAD double nan(ulong code) {
  return as_double(0x7ff8000000000000ul | (code & 0x7fffffffffffful));
}
TANDEM_WIDTHS(TANDEM_MAP1, float, nan, uint)
TANDEM_WIDTHS(TANDEM_MAP1, double, nan, ulong)

// Functions that write a second result through a pointer of type P, in any address space.
#define TANDEM_SPLIT_VECTOR(n, space, T, P, f)                                                 \
  TANDEM_OVERLOAD TANDEM_JOIN(T, n) f(TANDEM_JOIN(T, n) a, space TANDEM_JOIN(P, n) * second) { \
    TANDEM_JOIN(T, n) tandem_r;                                                                \
    TANDEM_JOIN(P, n) tandem_s;                                                                \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i) {                                         \
      __private P tandem_one;                                                                  \
      tandem_r[tandem_i] = f(a[tandem_i], &tandem_one);                                        \
      tandem_s[tandem_i] = tandem_one;                                                         \
    }                                                                                          \
    *second = tandem_s;                                                                        \
    return tandem_r;                                                                           \
  }
#define TANDEM_SPLIT(space, T, P, f, body) \
  TANDEM_OVERLOAD T f(T a, space P* second) { body }
#define TANDEM_SPLIT_ALL(T, P, f, body) \
  TANDEM_SPACES(TANDEM_SPLIT, T, P, f, body) TANDEM_SPACES(TANDEM_SPLIT_VECTORS, T, P, f)
#define TANDEM_SPLIT_VECTORS(space, T, P, f) TANDEM_WIDTHS(TANDEM_SPLIT_VECTOR, space, T, P, f)

TANDEM_SPLIT_ALL(float, float, fract, *second = floor(a); return fmin(a - *second, 0x1.fffffep-1f);)
TANDEM_SPLIT_ALL(double, double, fract, *second = floor(a);
                 return fmin(a - *second, 0x1.fffffffffffffp-1);)
TANDEM_SPLIT_ALL(float, float, modf, *second = trunc(a);
                 return copysign(__builtin_isinf(a) ? 0.0f : a - *second, a);)
TANDEM_SPLIT_ALL(double, double, modf, *second = trunc(a);
                 return copysign(__builtin_isinf(a) ? 0.0 : a - *second, a);)
TANDEM_SPLIT_ALL(float, float, sincos, *second = cos(a); return sin(a);)
TANDEM_SPLIT_ALL(double, double, sincos, *second = cos(a); return sin(a);)
TANDEM_SPLIT_ALL(float, int, frexp, *second = a == 0 || a - a != 0 ? 0 : ilogb(a) + 1;
                 return ldexp(a, -*second);)
TANDEM_SPLIT_ALL(double, int, frexp, *second = a == 0 || a - a != 0 ? 0 : ilogb(a) + 1;
                 return ldexp(a, -*second);)
TANDEM_SPLIT_ALL(float, int, lgamma_r,
                 *second = a > 0 || floor(a) != a ? (a > 0 || fmod(floor(a), 2.0f) == 0 ? 1 : -1)
                                                  : 0;
                 return lgamma(a);)
TANDEM_SPLIT_ALL(double, int, lgamma_r,
                 *second = a > 0 || floor(a) != a ? (a > 0 || fmod(floor(a), 2.0) == 0 ? 1 : -1)
                                                  : 0;
                 return lgamma(a);)
#define TANDEM_REMQUO(space, T)                                        \
  TANDEM_OVERLOAD T remquo(T a, T b, space int* quotient) {            \
    const T rest = remainder(a, b);                                    \
    const double whole = rint(((double)a - (double)rest) / (double)b); \
    const int low = (int)fmod(fabs(whole), 128.0);                     \
    *quotient = whole < 0 ? -low : low;                                \
    return rest;                                                       \
  }
TANDEM_SPACES(TANDEM_REMQUO, float)
TANDEM_SPACES(TANDEM_REMQUO, double)

#define half_cos cos
#define half_exp exp
#define half_exp2 exp2
#define half_exp10 exp10
#define half_log log
#define half_log2 log2
#define half_log10 log10
#define half_powr powr
#define half_rsqrt rsqrt
#define half_sin sin
#define half_sqrt sqrt
#define half_tan tan
#define half_divide(a, b) ((a) / (b))
#define half_recip(a) (1.0f / (a))
#define native_cos cos
#define native_exp exp
#define native_exp2 exp2
#define native_exp10 exp10
#define native_log log
#define native_log2 log2
#define native_log10 log10
#define native_powr powr
#define native_rsqrt rsqrt
#define native_sin sin
#define native_sqrt sqrt
#define native_tan tan
#define native_divide(a, b) ((a) / (b))
#define native_recip(a) (1.0f / (a))
