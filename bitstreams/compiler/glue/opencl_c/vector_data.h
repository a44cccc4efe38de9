// SPDX-License-Identifier: Apache-2.0
//
// vload, vstore, their forms for half, and shuffles.
//
// Values of type half are converted by integer code, so no processor feature is needed. Source:
// OpenCL C 2.0, sections 6.13.7 and 6.13.12.
#pragma once

#include "overloads.h"

#define TANDEM_VLOAD_OF(n, space, T)                                               \
  TANDEM_OVERLOAD TANDEM_JOIN(T, n) vload##n(size_t offset, const space T* from) { \
    TANDEM_JOIN(T, n) tandem_r;                                                    \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i)                               \
      tandem_r[tandem_i] = from[offset * n + tandem_i];                            \
    return tandem_r;                                                               \
  }
#define TANDEM_VSTORE_OF(n, space, T)                                                             \
  TANDEM_OVERLOAD void vstore##n(TANDEM_JOIN(T, n) value, size_t offset, space T* to) {           \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i) to[offset * n + tandem_i] = value[tandem_i]; \
  }
#define TANDEM_VLOADS(space, T) TANDEM_WIDTHS(TANDEM_VLOAD_OF, space, T)
#define TANDEM_VSTORES(space, T) TANDEM_WIDTHS(TANDEM_VSTORE_OF, space, T)
#define TANDEM_VDATA(T, U, ...)   \
  TANDEM_SPACES(TANDEM_VLOADS, T) \
  TANDEM_VLOADS(__constant, T)    \
  TANDEM_SPACES(TANDEM_VSTORES, T)
TANDEM_TYPES(TANDEM_VDATA, )

TANDEM_OVERLOAD float tandem_float_of_half(ushort bits) {
  const uint sign = (uint)(bits & 0x8000u) << 16;
  const uint exponent = (bits >> 10) & 31u;
  const uint fraction = bits & 0x3ffu;
  if (exponent == 31) return as_float(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return as_float(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float small = (float)fraction * 0x1p-24f;
  return as_float(sign | as_uint(small));
}
// Rounds to nearest, ties to even.
TANDEM_OVERLOAD ushort tandem_half_of_float(float value) {
  const uint bits = as_uint(value);
  const ushort sign = (ushort)((bits >> 16) & 0x8000u);
  const float size = as_float(bits & 0x7fffffffu);
  if (size != size) return sign | (ushort)0x7e00;
  if (size >= 65520.0f) return sign | (ushort)0x7c00;
  if (size < 0x1p-14f) return sign | (ushort)__builtin_rintf(size * 0x1p24f);
  const uint rounded = as_uint(size) + 0xfffu + ((as_uint(size) >> 13) & 1u);
  return sign | (ushort)((rounded >> 13) - (112u << 10));
}

#define TANDEM_HALF_LOAD_OF(n, space, step, f)                                                     \
  TANDEM_OVERLOAD TANDEM_JOIN(float, n) TANDEM_JOIN(f, n)(size_t offset, const space half* from) { \
    const space ushort* bits = (const space ushort*)from + offset * ((n) == 3 ? (step) : (n));     \
    TANDEM_JOIN(float, n) tandem_r;                                                                \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i)                                               \
      tandem_r[tandem_i] = tandem_float_of_half(bits[tandem_i]);                                   \
    return tandem_r;                                                                               \
  }
#define TANDEM_HALF_STORE_OF(n, space, step, f)                                      \
  TANDEM_OVERLOAD void TANDEM_JOIN(f, n)(TANDEM_JOIN(float, n) value, size_t offset, \
                                         space half * to) {                          \
    space ushort* bits = (space ushort*)to + offset * ((n) == 3 ? (step) : (n));     \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i)                                 \
      bits[tandem_i] = tandem_half_of_float(value[tandem_i]);                        \
  }
#define TANDEM_HALF_LOADS(space, ...)                                       \
  TANDEM_OVERLOAD float vload_half(size_t offset, const space half* from) { \
    return tandem_float_of_half(((const space ushort*)from)[offset]);       \
  }                                                                         \
  TANDEM_WIDTHS(TANDEM_HALF_LOAD_OF, space, 3, vload_half)                  \
  TANDEM_WIDTHS(TANDEM_HALF_LOAD_OF, space, 4, vloada_half)
#define TANDEM_HALF_STORES(space, ...)                                           \
  TANDEM_OVERLOAD void vstore_half(float value, size_t offset, space half* to) { \
    ((space ushort*)to)[offset] = tandem_half_of_float(value);                   \
  }                                                                              \
  TANDEM_WIDTHS(TANDEM_HALF_STORE_OF, space, 3, vstore_half)                     \
  TANDEM_WIDTHS(TANDEM_HALF_STORE_OF, space, 4, vstorea_half)
TANDEM_SPACES(TANDEM_HALF_LOADS, )
TANDEM_HALF_LOADS(__constant, )
TANDEM_SPACES(TANDEM_HALF_STORES, )

#define TANDEM_SHUFFLE_OF(n, m, T, U)                                                      \
  TANDEM_OVERLOAD TANDEM_JOIN(T, n) shuffle(TANDEM_JOIN(T, m) a, TANDEM_JOIN(U, n) mask) { \
    TANDEM_JOIN(T, n) tandem_r;                                                            \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i)                                       \
      tandem_r[tandem_i] = a[mask[tandem_i] & ((m)-1)];                                    \
    return tandem_r;                                                                       \
  }                                                                                        \
  TANDEM_OVERLOAD TANDEM_JOIN(T, n)                                                        \
      shuffle2(TANDEM_JOIN(T, m) a, TANDEM_JOIN(T, m) b, TANDEM_JOIN(U, n) mask) {         \
    TANDEM_JOIN(T, n) tandem_r;                                                            \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i) {                                     \
      const uint from = mask[tandem_i] & (2 * (m)-1);                                      \
      tandem_r[tandem_i] = from < (m) ? a[from] : b[from - (m)];                           \
    }                                                                                      \
    return tandem_r;                                                                       \
  }
#define TANDEM_SHUFFLES(T, U, ...) \
  TANDEM_SHUFFLES_OF(2, T, U)      \
  TANDEM_SHUFFLES_OF(4, T, U) TANDEM_SHUFFLES_OF(8, T, U) TANDEM_SHUFFLES_OF(16, T, U)
#define TANDEM_SHUFFLES_OF(m, T, U) \
  TANDEM_SHUFFLE_OF(2, m, T, U)     \
  TANDEM_SHUFFLE_OF(4, m, T, U) TANDEM_SHUFFLE_OF(8, m, T, U) TANDEM_SHUFFLE_OF(16, m, T, U)
TANDEM_TYPES(TANDEM_SHUFFLES, )
