// SPDX-License-Identifier: Apache-2.0
//
// Relational functions: scalar forms return 0 or 1, vector forms 0 or -1 in each element.
//
// Source: OpenCL C 2.0, section 6.13.6.
#pragma once

#include "overloads.h"

// The result for vectors is an integer vector I with elements of the same size.
#define TANDEM_RELATE2_OF(n, T, I, f, expression)                                 \
  TANDEM_OVERLOAD TANDEM_JOIN(I, n) f(TANDEM_JOIN(T, n) a, TANDEM_JOIN(T, n) b) { \
    return expression;                                                            \
  }
#define TANDEM_RELATE2(f, expression)                              \
  TANDEM_OVERLOAD int f(float a, float b) { return expression; }   \
  TANDEM_OVERLOAD int f(double a, double b) { return expression; } \
  TANDEM_WIDTHS(TANDEM_RELATE2_OF, float, int, f, expression)      \
  TANDEM_WIDTHS(TANDEM_RELATE2_OF, double, long, f, expression)
TANDEM_RELATE2(isequal, a == b)
TANDEM_RELATE2(isnotequal, a != b)
TANDEM_RELATE2(isgreater, a > b)
TANDEM_RELATE2(isgreaterequal, a >= b)
TANDEM_RELATE2(isless, a < b)
TANDEM_RELATE2(islessequal, a <= b)
TANDEM_RELATE2(islessgreater, (a < b) | (a > b))
TANDEM_RELATE2(isordered, (a == a) & (b == b))
TANDEM_RELATE2(isunordered, (a != a) | (b != b))

#define TANDEM_RELATE1_OF(n, T, I, f)                                                      \
  TANDEM_OVERLOAD TANDEM_JOIN(I, n) f(TANDEM_JOIN(T, n) a) {                               \
    TANDEM_JOIN(I, n) tandem_r;                                                            \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i) tandem_r[tandem_i] = -f(a[tandem_i]); \
    return tandem_r;                                                                       \
  }
#define TANDEM_RELATE1(f, expression)                           \
  TANDEM_OVERLOAD int f(float a) { return (expression) != 0; }  \
  TANDEM_OVERLOAD int f(double a) { return (expression) != 0; } \
  TANDEM_WIDTHS(TANDEM_RELATE1_OF, float, int, f)               \
  TANDEM_WIDTHS(TANDEM_RELATE1_OF, double, long, f)
TANDEM_RELATE1(isnan, a != a)
TANDEM_RELATE1(isinf, __builtin_isinf(a))
TANDEM_RELATE1(isfinite, __builtin_isfinite(a))
TANDEM_RELATE1(isnormal, __builtin_isnormal(a))
TANDEM_RELATE1(signbit, __builtin_copysign(1.0, a) < 0)

#define TANDEM_ANY_OF(n, T)                                                    \
  TANDEM_OVERLOAD int any(TANDEM_JOIN(T, n) a) {                               \
    int found = 0;                                                             \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i) found |= a[tandem_i] < 0; \
    return found;                                                              \
  }                                                                            \
  TANDEM_OVERLOAD int all(TANDEM_JOIN(T, n) a) {                               \
    int kept = 1;                                                              \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i) kept &= a[tandem_i] < 0;  \
    return kept;                                                               \
  }
#define TANDEM_ANY(T)                            \
  TANDEM_OVERLOAD int any(T a) { return a < 0; } \
  TANDEM_OVERLOAD int all(T a) { return a < 0; } \
  TANDEM_WIDTHS(TANDEM_ANY_OF, T)
TANDEM_ANY(char)
TANDEM_ANY(short)
TANDEM_ANY(int)
TANDEM_ANY(long)

// select(a, b, c) of vectors: b where the sign bit of c is set, else a. Of scalars: b if c is not
// 0, else a.
#define TANDEM_SELECT_OF(n, T, C, S)                                          \
  TANDEM_OVERLOAD TANDEM_JOIN(T, n)                                           \
      select(TANDEM_JOIN(T, n) a, TANDEM_JOIN(T, n) b, TANDEM_JOIN(C, n) c) { \
    TANDEM_JOIN(T, n) tandem_r;                                               \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i)                          \
      tandem_r[tandem_i] = (S)c[tandem_i] < 0 ? b[tandem_i] : a[tandem_i];    \
    return tandem_r;                                                          \
  }
#define TANDEM_SELECT(T, C, S)                                  \
  TANDEM_OVERLOAD T select(T a, T b, C c) { return c ? b : a; } \
  TANDEM_WIDTHS(TANDEM_SELECT_OF, T, C, S)
#define TANDEM_SELECTS(T, U, S) TANDEM_SELECT(T, U, S) TANDEM_SELECT(T, S, S)
TANDEM_SELECTS(char, uchar, char)
TANDEM_SELECTS(uchar, uchar, char)
TANDEM_SELECTS(short, ushort, short)
TANDEM_SELECTS(ushort, ushort, short)
TANDEM_SELECTS(int, uint, int)
TANDEM_SELECTS(uint, uint, int)
TANDEM_SELECTS(long, ulong, long)
TANDEM_SELECTS(ulong, ulong, long)
TANDEM_SELECTS(float, uint, int)
TANDEM_SELECTS(double, ulong, long)

#define TANDEM_BITSELECT_OF(n, T, U, f)                                  \
  TANDEM_OVERLOAD TANDEM_JOIN(T, n)                                      \
      f(TANDEM_JOIN(T, n) a, TANDEM_JOIN(T, n) b, TANDEM_JOIN(T, n) c) { \
    TANDEM_JOIN(T, n) tandem_r;                                          \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i)                     \
      tandem_r[tandem_i] = f(a[tandem_i], b[tandem_i], c[tandem_i]);     \
    return tandem_r;                                                     \
  }
#define TANDEM_BITSELECT(T, U, ...)                                                         \
  TANDEM_OVERLOAD T bitselect(T a, T b, T c) {                                              \
    const U mask = __builtin_astype(c, U);                                                  \
    const U bits = (U)((__builtin_astype(a, U) & ~mask) | (__builtin_astype(b, U) & mask)); \
    return __builtin_astype(bits, T);                                                       \
  }                                                                                         \
  TANDEM_WIDTHS(TANDEM_BITSELECT_OF, T, U, bitselect)
TANDEM_TYPES(TANDEM_BITSELECT, )
