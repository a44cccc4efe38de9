// SPDX-License-Identifier: Apache-2.0
//
// Integer functions for all eight integer types, scalars and vectors.
//
// Source: OpenCL C 2.0, section 6.13.3.
#pragma once

#include "overloads.h"

// Whether the type T has a sign, its number of bits and its limits.
#define TANDEM_SIGNED(T) ((T)-1 < (T)0)
#define TANDEM_BITS(T) ((int)sizeof(T) * 8)
#define TANDEM_LOWEST(T, U) (TANDEM_SIGNED(T) ? (T)((U)1 << (TANDEM_BITS(T) - 1)) : (T)0)
#define TANDEM_HIGHEST(T, U) (TANDEM_SIGNED(T) ? (T)(((U) ~(U)0) >> 1) : (T) ~(U)0)

// A type that holds a * b + c for all values a, b and c of T. T determines only its sign.
#define TANDEM_WIDE(T) __typeof__(TANDEM_JOIN(tandem_wide_of_, T)())
__int128 tandem_wide_of_char(void);
__int128 tandem_wide_of_short(void);
__int128 tandem_wide_of_int(void);
__int128 tandem_wide_of_long(void);
unsigned __int128 tandem_wide_of_uchar(void);
unsigned __int128 tandem_wide_of_ushort(void);
unsigned __int128 tandem_wide_of_uint(void);
unsigned __int128 tandem_wide_of_ulong(void);

#define TANDEM_INTEGER_BASICS(T, U, ...)                                                \
  TANDEM_OVERLOAD U abs(T a) { return TANDEM_SIGNED(T) && a < 0 ? (U)0 - (U)a : (U)a; } \
  TANDEM_WIDTHS(TANDEM_MAP1, U, abs, T)                                                 \
  TANDEM_OVERLOAD U abs_diff(T a, T b) { return a < b ? (U)b - (U)a : (U)a - (U)b; }    \
  TANDEM_WIDTHS(TANDEM_MAP2, U, abs_diff, T, T)                                         \
  TANDEM_OVERLOAD T add_sat(T a, T b) {                                                 \
    T sum;                                                                              \
    if (!__builtin_add_overflow(a, b, &sum)) return sum;                                \
    return TANDEM_SIGNED(T) && a < 0 ? TANDEM_LOWEST(T, U) : TANDEM_HIGHEST(T, U);      \
  }                                                                                     \
  TANDEM_WIDTHS(TANDEM_MAP2, T, add_sat, T, T)                                          \
  TANDEM_OVERLOAD T sub_sat(T a, T b) {                                                 \
    T difference;                                                                       \
    if (!__builtin_sub_overflow(a, b, &difference)) return difference;                  \
    return TANDEM_SIGNED(T) && a >= 0 ? TANDEM_HIGHEST(T, U) : TANDEM_LOWEST(T, U);     \
  }                                                                                     \
  TANDEM_WIDTHS(TANDEM_MAP2, T, sub_sat, T, T)                                          \
  TANDEM_OVERLOAD T hadd(T a, T b) { return (a >> 1) + (b >> 1) + (a & b & 1); }        \
  TANDEM_WIDTHS(TANDEM_MAP2, T, hadd, T, T)                                             \
  TANDEM_OVERLOAD T rhadd(T a, T b) { return (a >> 1) + (b >> 1) + ((a | b) & 1); }     \
  TANDEM_WIDTHS(TANDEM_MAP2, T, rhadd, T, T)                                            \
  TANDEM_OVERLOAD T max(T a, T b) { return a < b ? b : a; }                             \
  TANDEM_WIDTHS(TANDEM_MAP2, T, max, T, T)                                              \
  TANDEM_WIDTHS(TANDEM_MAP2_LAST, T, max, T, T)                                         \
  TANDEM_OVERLOAD T min(T a, T b) { return b < a ? b : a; }                             \
  TANDEM_WIDTHS(TANDEM_MAP2, T, min, T, T)                                              \
  TANDEM_WIDTHS(TANDEM_MAP2_LAST, T, min, T, T)                                         \
  TANDEM_OVERLOAD T clamp(T a, T low, T high) { return min(max(a, low), high); }        \
  TANDEM_WIDTHS(TANDEM_MAP3, T, clamp, T, T, T)                                         \
  TANDEM_WIDTHS(TANDEM_CLAMP_SCALARS, T)

#define TANDEM_CLAMP_SCALARS(n, T)                                              \
  TANDEM_OVERLOAD TANDEM_JOIN(T, n) clamp(TANDEM_JOIN(T, n) a, T low, T high) { \
    return min(max(a, low), high);                                              \
  }

#define TANDEM_INTEGER_BITS(T, U, ...)                                                             \
  TANDEM_OVERLOAD T clz(T a) {                                                                     \
    return (U)a == 0 ? (T)TANDEM_BITS(T) : (T)(__builtin_clzl((ulong)(U)a) - 64 + TANDEM_BITS(T)); \
  }                                                                                                \
  TANDEM_WIDTHS(TANDEM_MAP1, T, clz, T)                                                            \
  TANDEM_OVERLOAD T ctz(T a) {                                                                     \
    return (U)a == 0 ? (T)TANDEM_BITS(T) : (T)__builtin_ctzl((ulong)(U)a);                         \
  }                                                                                                \
  TANDEM_WIDTHS(TANDEM_MAP1, T, ctz, T)                                                            \
  TANDEM_OVERLOAD T popcount(T a) { return (T)__builtin_popcountl((ulong)(U)a); }                  \
  TANDEM_WIDTHS(TANDEM_MAP1, T, popcount, T)                                                       \
  TANDEM_OVERLOAD T rotate(T a, T b) {                                                             \
    const int shift = (int)((U)b & (TANDEM_BITS(T) - 1));                                          \
    return shift == 0 ? a : (T)((U)((U)a << shift) | (U)((U)a >> (TANDEM_BITS(T) - shift)));       \
  }                                                                                                \
  TANDEM_WIDTHS(TANDEM_MAP2, T, rotate, T, T)                                                      \
  TANDEM_OVERLOAD T mul_hi(T a, T b) { return (T)((TANDEM_WIDE(T))a * b >> TANDEM_BITS(T)); }      \
  TANDEM_WIDTHS(TANDEM_MAP2, T, mul_hi, T, T)                                                      \
  TANDEM_OVERLOAD T mad_hi(T a, T b, T c) { return mul_hi(a, b) + c; }                             \
  TANDEM_WIDTHS(TANDEM_MAP3, T, mad_hi, T, T, T)                                                   \
  TANDEM_OVERLOAD T mad_sat(T a, T b, T c) {                                                       \
    const TANDEM_WIDE(T) exact = (TANDEM_WIDE(T))a * b + c;                                        \
    if (exact < (TANDEM_WIDE(T))TANDEM_LOWEST(T, U)) return TANDEM_LOWEST(T, U);                   \
    return exact > (TANDEM_WIDE(T))TANDEM_HIGHEST(T, U) ? TANDEM_HIGHEST(T, U) : (T)exact;         \
  }                                                                                                \
  TANDEM_WIDTHS(TANDEM_MAP3, T, mad_sat, T, T, T)
TANDEM_INTEGERS(TANDEM_INTEGER_BASICS, )
TANDEM_INTEGERS(TANDEM_INTEGER_BITS, )

#define TANDEM_UPSAMPLE(n, W, T, U)                                                           \
  TANDEM_OVERLOAD TANDEM_JOIN(W, n) upsample(TANDEM_JOIN(T, n) high, TANDEM_JOIN(U, n) low) { \
    TANDEM_JOIN(W, n) tandem_r;                                                               \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i)                                          \
      tandem_r[tandem_i] = upsample(high[tandem_i], low[tandem_i]);                           \
    return tandem_r;                                                                          \
  }
#define TANDEM_UPSAMPLES(W, V, T, U)                                                              \
  TANDEM_OVERLOAD W upsample(T high, U low) { return (W)(((V)(U)high << TANDEM_BITS(T)) | low); } \
  TANDEM_WIDTHS(TANDEM_UPSAMPLE, W, T, U)
TANDEM_UPSAMPLES(short, ushort, char, uchar)
TANDEM_UPSAMPLES(ushort, ushort, uchar, uchar)
TANDEM_UPSAMPLES(int, uint, short, ushort)
TANDEM_UPSAMPLES(uint, uint, ushort, ushort)
TANDEM_UPSAMPLES(long, ulong, int, uint)
TANDEM_UPSAMPLES(ulong, ulong, uint, uint)

// Products of 24-bit factors: exact in 32 bits of the full product too.
#define TANDEM_24(T)                                           \
  TANDEM_OVERLOAD T mul24(T a, T b) { return a * b; }          \
  TANDEM_WIDTHS(TANDEM_MAP2, T, mul24, T, T)                   \
  TANDEM_OVERLOAD T mad24(T a, T b, T c) { return a * b + c; } \
  TANDEM_WIDTHS(TANDEM_MAP3, T, mad24, T, T, T)
TANDEM_24(int)
TANDEM_24(uint)
