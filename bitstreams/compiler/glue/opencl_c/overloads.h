// SPDX-License-Identifier: Apache-2.0
//
// Macros that make the overloads of an OpenCL C built-in function from its scalar form.
//
// A vector form applies the scalar form to each element in order; the optimiser vectorises it.
// OpenCL C 1.2 and 2.0; no other header of the project. Source: OpenCL C 2.0, section 6.13.
#pragma once

#define TANDEM_OVERLOAD static inline __attribute__((overloadable, always_inline, unused))
#define TANDEM_JOIN_AGAIN(a, b) a##b
#define TANDEM_JOIN(a, b) TANDEM_JOIN_AGAIN(a, b)

// The vector forms of width n of a function of one, two and three arguments, result type R.
#define TANDEM_MAP1(n, R, f, A)                                                           \
  TANDEM_OVERLOAD TANDEM_JOIN(R, n) f(TANDEM_JOIN(A, n) a) {                              \
    TANDEM_JOIN(R, n) tandem_r;                                                           \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i) tandem_r[tandem_i] = f(a[tandem_i]); \
    return tandem_r;                                                                      \
  }
#define TANDEM_MAP2(n, R, f, A, B)                                                \
  TANDEM_OVERLOAD TANDEM_JOIN(R, n) f(TANDEM_JOIN(A, n) a, TANDEM_JOIN(B, n) b) { \
    TANDEM_JOIN(R, n) tandem_r;                                                   \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i)                              \
      tandem_r[tandem_i] = f(a[tandem_i], b[tandem_i]);                           \
    return tandem_r;                                                              \
  }
#define TANDEM_MAP3(n, R, f, A, B, C)                                    \
  TANDEM_OVERLOAD TANDEM_JOIN(R, n)                                      \
      f(TANDEM_JOIN(A, n) a, TANDEM_JOIN(B, n) b, TANDEM_JOIN(C, n) c) { \
    TANDEM_JOIN(R, n) tandem_r;                                          \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i)                     \
      tandem_r[tandem_i] = f(a[tandem_i], b[tandem_i], c[tandem_i]);     \
    return tandem_r;                                                     \
  }
// The same with a scalar as the last argument, or as the first one.
#define TANDEM_MAP2_LAST(n, R, f, A, B)                                                      \
  TANDEM_OVERLOAD TANDEM_JOIN(R, n) f(TANDEM_JOIN(A, n) a, B b) {                            \
    TANDEM_JOIN(R, n) tandem_r;                                                              \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i) tandem_r[tandem_i] = f(a[tandem_i], b); \
    return tandem_r;                                                                         \
  }
#define TANDEM_MAP2_FIRST(n, R, f, A, B)                                                     \
  TANDEM_OVERLOAD TANDEM_JOIN(R, n) f(A a, TANDEM_JOIN(B, n) b) {                            \
    TANDEM_JOIN(R, n) tandem_r;                                                              \
    for (int tandem_i = 0; tandem_i < n; ++tandem_i) tandem_r[tandem_i] = f(a, b[tandem_i]); \
    return tandem_r;                                                                         \
  }

// `each(n, ...)` for every vector width.
#define TANDEM_WIDTHS(each, ...)                                                      \
  each(2, __VA_ARGS__) each(3, __VA_ARGS__) each(4, __VA_ARGS__) each(8, __VA_ARGS__) \
      each(16, __VA_ARGS__)

// `each(T, ...)` for every type of a family; U is the unsigned type of the same size.
#define TANDEM_INTEGERS(each, ...)                                                                 \
  each(char, uchar, __VA_ARGS__) each(uchar, uchar, __VA_ARGS__) each(short, ushort, __VA_ARGS__)  \
      each(ushort, ushort, __VA_ARGS__) each(int, uint, __VA_ARGS__) each(uint, uint, __VA_ARGS__) \
          each(long, ulong, __VA_ARGS__) each(ulong, ulong, __VA_ARGS__)
#define TANDEM_FLOATS(each, ...) each(float, uint, __VA_ARGS__) each(double, ulong, __VA_ARGS__)
#define TANDEM_TYPES(each, ...) TANDEM_INTEGERS(each, __VA_ARGS__) TANDEM_FLOATS(each, __VA_ARGS__)

// `each(space, ...)` for the address spaces a function may be given a pointer to.
#if __OPENCL_C_VERSION__ >= 200
#define TANDEM_SPACES(each, ...) each(__generic, __VA_ARGS__)
#else
#define TANDEM_SPACES(each, ...) \
  each(__global, __VA_ARGS__) each(__local, __VA_ARGS__) each(__private, __VA_ARGS__)
#endif
