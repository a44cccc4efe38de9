// SPDX-License-Identifier: Apache-2.0
//
// OpenCL C's built-in common and geometric functions, for scalars and vectors of float and double.
//
// Source: OpenCL C 2.0, sections 6.13.4 and 6.13.5.
#pragma once

#include "integer_functions.h"
#include "math_functions.h"

#define TANDEM_COMMON(T, U, ...)                                                           \
  TANDEM_OVERLOAD T max(T a, T b) { return a < b ? b : a; }                                \
  TANDEM_WIDTHS(TANDEM_MAP2, T, max, T, T)                                                 \
  TANDEM_WIDTHS(TANDEM_MAP2_LAST, T, max, T, T)                                            \
  TANDEM_OVERLOAD T min(T a, T b) { return b < a ? b : a; }                                \
  TANDEM_WIDTHS(TANDEM_MAP2, T, min, T, T)                                                 \
  TANDEM_WIDTHS(TANDEM_MAP2_LAST, T, min, T, T)                                            \
  TANDEM_OVERLOAD T clamp(T a, T low, T high) { return fmin(fmax(a, low), high); }         \
  TANDEM_WIDTHS(TANDEM_MAP3, T, clamp, T, T, T)                                            \
  TANDEM_OVERLOAD T degrees(T a) { return (T)(180 / TANDEM_PI) * a; }                      \
  TANDEM_WIDTHS(TANDEM_MAP1, T, degrees, T)                                                \
  TANDEM_OVERLOAD T radians(T a) { return (T)(TANDEM_PI / 180) * a; }                      \
  TANDEM_WIDTHS(TANDEM_MAP1, T, radians, T)                                                \
  TANDEM_OVERLOAD T mix(T a, T b, T part) { return a + (b - a) * part; }                   \
  TANDEM_WIDTHS(TANDEM_MAP3, T, mix, T, T, T)                                              \
  TANDEM_OVERLOAD T step(T edge, T a) { return a < edge ? (T)0 : (T)1; }                   \
  TANDEM_WIDTHS(TANDEM_MAP2, T, step, T, T)                                                \
  TANDEM_WIDTHS(TANDEM_MAP2_FIRST, T, step, T, T)                                          \
  TANDEM_OVERLOAD T smoothstep(T low, T high, T a) {                                       \
    const T part = clamp((a - low) / (high - low), (T)0, (T)1);                            \
    return part * part * (3 - 2 * part);                                                   \
  }                                                                                        \
  TANDEM_WIDTHS(TANDEM_MAP3, T, smoothstep, T, T, T)                                       \
  TANDEM_OVERLOAD T sign(T a) { return a > 0 ? (T)1 : a < 0 ? (T)-1 : a == 0 ? a : (T)0; } \
  TANDEM_WIDTHS(TANDEM_MAP1, T, sign, T)                                                   \
  TANDEM_WIDTHS(TANDEM_SCALAR_LIMITS, T)
#define TANDEM_SCALAR_LIMITS(n, T)                                                          \
  TANDEM_OVERLOAD TANDEM_JOIN(T, n) clamp(TANDEM_JOIN(T, n) a, T low, T high) {             \
    return fmin(fmax(a, low), high);                                                        \
  }                                                                                         \
  TANDEM_OVERLOAD TANDEM_JOIN(T, n) mix(TANDEM_JOIN(T, n) a, TANDEM_JOIN(T, n) b, T part) { \
    return a + (b - a) * part;                                                              \
  }                                                                                         \
  TANDEM_OVERLOAD TANDEM_JOIN(T, n) smoothstep(T low, T high, TANDEM_JOIN(T, n) a) {        \
    TANDEM_JOIN(T, n) tandem_r;                                                             \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i)                                        \
      tandem_r[tandem_i] = smoothstep(low, high, a[tandem_i]);                              \
    return tandem_r;                                                                        \
  }
TANDEM_FLOATS(TANDEM_COMMON, )

#define TANDEM_GEOMETRY_OF(T, V, n)                                            \
  TANDEM_OVERLOAD T dot(V a, V b) {                                            \
    const V product = a * b;                                                   \
    T sum = 0;                                                                 \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i) sum += product[tandem_i]; \
    return sum;                                                                \
  }                                                                            \
  TANDEM_OVERLOAD T length(V a) { return sqrt(dot(a, a)); }                    \
  TANDEM_OVERLOAD T distance(V a, V b) { return length(a - b); }               \
  TANDEM_OVERLOAD V normalize(V a) {                                           \
    const T size = length(a);                                                  \
    return size == 0 ? a : a / size;                                           \
  }
#define TANDEM_GEOMETRY(T, U, ...)                                                    \
  TANDEM_OVERLOAD T dot(T a, T b) { return a * b; }                                   \
  TANDEM_OVERLOAD T length(T a) { return fabs(a); }                                   \
  TANDEM_OVERLOAD T distance(T a, T b) { return fabs(a - b); }                        \
  TANDEM_OVERLOAD T normalize(T a) { return sign(a); }                                \
  TANDEM_GEOMETRY_OF(T, TANDEM_JOIN(T, 2), 2)                                         \
  TANDEM_GEOMETRY_OF(T, TANDEM_JOIN(T, 3), 3)                                         \
  TANDEM_GEOMETRY_OF(T, TANDEM_JOIN(T, 4), 4)                                         \
  TANDEM_OVERLOAD TANDEM_JOIN(T, 3) cross(TANDEM_JOIN(T, 3) a, TANDEM_JOIN(T, 3) b) { \
    return a.yzx * b.zxy - a.zxy * b.yzx;                                             \
  }                                                                                   \
  TANDEM_OVERLOAD TANDEM_JOIN(T, 4) cross(TANDEM_JOIN(T, 4) a, TANDEM_JOIN(T, 4) b) { \
    return (TANDEM_JOIN(T, 4))(cross(a.xyz, b.xyz), 0);                               \
  }
TANDEM_FLOATS(TANDEM_GEOMETRY, )
#define fast_length length
#define fast_distance distance
#define fast_normalize normalize
