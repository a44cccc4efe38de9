// SPDX-License-Identifier: Apache-2.0
//
// The parts of the convert_ functions; the compiler driver defines the functions that a source
// names.
//
// Conversions to floating point round to nearest. Source: OpenCL C 2.0, section 6.2.3.
#pragma once

#include "integer_functions.h"
#include "math_functions.h"

// Rounding modes of conversions from floating point; integers are exact already.
#define TANDEM_EXACT(T, U, ...)                         \
  TANDEM_OVERLOAD T tandem_round(T a) { return a; }     \
  TANDEM_OVERLOAD T tandem_round_rte(T a) { return a; } \
  TANDEM_OVERLOAD T tandem_round_rtz(T a) { return a; } \
  TANDEM_OVERLOAD T tandem_round_rtp(T a) { return a; } \
  TANDEM_OVERLOAD T tandem_round_rtn(T a) { return a; }
TANDEM_INTEGERS(TANDEM_EXACT, )
#define TANDEM_ROUNDED(T, U, ...)                              \
  TANDEM_OVERLOAD T tandem_round(T a) { return a; }            \
  TANDEM_OVERLOAD T tandem_round_rte(T a) { return rint(a); }  \
  TANDEM_OVERLOAD T tandem_round_rtz(T a) { return trunc(a); } \
  TANDEM_OVERLOAD T tandem_round_rtp(T a) { return ceil(a); }  \
  TANDEM_OVERLOAD T tandem_round_rtn(T a) { return floor(a); }
TANDEM_FLOATS(TANDEM_ROUNDED, )

// tandem_sat_T(a): the nearest value of T; a not-a-number gives 0.
#define TANDEM_SATURATED(S, SU, T, U)                                       \
  TANDEM_OVERLOAD T tandem_sat_##T(S a) {                                   \
    const TANDEM_WIDE(T) low = (TANDEM_WIDE(T))TANDEM_LOWEST(T, U);         \
    const TANDEM_WIDE(T) high = (TANDEM_WIDE(T))TANDEM_HIGHEST(T, U);       \
    if (a < 0) {                                                            \
      if (!TANDEM_SIGNED(T)) return 0;                                      \
      return (__int128)a < (__int128)low ? (T)low : (T)a;                   \
    }                                                                       \
    return (unsigned __int128)a > (unsigned __int128)high ? (T)high : (T)a; \
  }
#define TANDEM_SATURATED_FLOAT(S, SU, T, U)                            \
  TANDEM_OVERLOAD T tandem_sat_##T(S a) {                              \
    if (a != a) return 0;                                              \
    if (a <= (S)TANDEM_LOWEST(T, U)) return TANDEM_LOWEST(T, U);       \
    return a >= (S)TANDEM_HIGHEST(T, U) ? TANDEM_HIGHEST(T, U) : (T)a; \
  }
#define TANDEM_SATURATE(T, U) \
  TANDEM_INTEGERS(TANDEM_SATURATED, T, U) TANDEM_FLOATS(TANDEM_SATURATED_FLOAT, T, U)
TANDEM_SATURATE(char, uchar)
TANDEM_SATURATE(uchar, uchar)
TANDEM_SATURATE(short, ushort)
TANDEM_SATURATE(ushort, ushort)
TANDEM_SATURATE(int, uint)
TANDEM_SATURATE(uint, uint)
TANDEM_SATURATE(long, ulong)
TANDEM_SATURATE(ulong, ulong)

// TANDEM_CONVERT_<width>(name, T, to, round) defines the overloads of one convert_ function, where
// `to` makes a T of a rounded element: (T), or tandem_sat_T.
#define TANDEM_CONVERT_OF(S, SU, name, T, to, round) \
  TANDEM_OVERLOAD T name(S a) { return to(round(a)); }
#define TANDEM_CONVERT_VECTOR(S, SU, n, name, T, to, round)                                       \
  TANDEM_OVERLOAD TANDEM_JOIN(T, n) name(TANDEM_JOIN(S, n) a) {                                   \
    TANDEM_JOIN(T, n) tandem_r;                                                                   \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i) tandem_r[tandem_i] = to(round(a[tandem_i])); \
    return tandem_r;                                                                              \
  }
#define TANDEM_CONVERT_1(...) TANDEM_TYPES(TANDEM_CONVERT_OF, __VA_ARGS__)
#define TANDEM_CONVERT_2(...) TANDEM_TYPES(TANDEM_CONVERT_VECTOR, 2, __VA_ARGS__)
#define TANDEM_CONVERT_3(...) TANDEM_TYPES(TANDEM_CONVERT_VECTOR, 3, __VA_ARGS__)
#define TANDEM_CONVERT_4(...) TANDEM_TYPES(TANDEM_CONVERT_VECTOR, 4, __VA_ARGS__)
#define TANDEM_CONVERT_8(...) TANDEM_TYPES(TANDEM_CONVERT_VECTOR, 8, __VA_ARGS__)
#define TANDEM_CONVERT_16(...) TANDEM_TYPES(TANDEM_CONVERT_VECTOR, 16, __VA_ARGS__)
