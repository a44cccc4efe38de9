// SPDX-License-Identifier: Apache-2.0
//
// Atomic functions of OpenCL C 1.2 (atomic_, atom_) and 2.0.
//
// All are sequentially consistent, because the units of a card share global memory and run at the
// same time. Source: OpenCL C 1.2, section 6.12.11; 2.0, section 6.13.11.
#pragma once

#include "overloads.h"

#define TANDEM_ATOMIC(space, T, name, builtin)                     \
  TANDEM_OVERLOAD T atomic_##name(volatile space T* at, T value) { \
    return builtin(at, value, __ATOMIC_SEQ_CST);                   \
  }                                                                \
  TANDEM_OVERLOAD T atom_##name(volatile space T* at, T value) {   \
    return builtin(at, value, __ATOMIC_SEQ_CST);                   \
  }
#define TANDEM_ATOMICS(space, T)                                                      \
  TANDEM_ATOMIC(space, T, add, __atomic_fetch_add)                                    \
  TANDEM_ATOMIC(space, T, sub, __atomic_fetch_sub)                                    \
  TANDEM_ATOMIC(space, T, xchg, __atomic_exchange_n)                                  \
  TANDEM_ATOMIC(space, T, min, __atomic_fetch_min)                                    \
  TANDEM_ATOMIC(space, T, max, __atomic_fetch_max)                                    \
  TANDEM_ATOMIC(space, T, and, __atomic_fetch_and)                                    \
  TANDEM_ATOMIC(space, T, or, __atomic_fetch_or)                                      \
  TANDEM_ATOMIC(space, T, xor, __atomic_fetch_xor)                                    \
  TANDEM_OVERLOAD T atomic_inc(volatile space T* at) { return atomic_add(at, (T)1); } \
  TANDEM_OVERLOAD T atomic_dec(volatile space T* at) { return atomic_sub(at, (T)1); } \
  TANDEM_OVERLOAD T atom_inc(volatile space T* at) { return atomic_add(at, (T)1); }   \
  TANDEM_OVERLOAD T atom_dec(volatile space T* at) { return atomic_sub(at, (T)1); }   \
  TANDEM_OVERLOAD T atomic_cmpxchg(volatile space T* at, T expected, T value) {       \
    return __sync_val_compare_and_swap(at, expected, value);                          \
  }                                                                                   \
  TANDEM_OVERLOAD T atom_cmpxchg(volatile space T* at, T expected, T value) {         \
    return __sync_val_compare_and_swap(at, expected, value);                          \
  }
#define TANDEM_ATOMICS_OF_SPACE(space, ...)                                               \
  TANDEM_ATOMICS(space, int)                                                              \
  TANDEM_ATOMICS(space, uint)                                                             \
  TANDEM_ATOMICS(space, long)                                                             \
  TANDEM_ATOMICS(space, ulong)                                                            \
  TANDEM_OVERLOAD float atomic_xchg(volatile space float* at, float value) {              \
    return as_float(                                                                      \
        __atomic_exchange_n((volatile space uint*)at, as_uint(value), __ATOMIC_SEQ_CST)); \
  }
TANDEM_SPACES(TANDEM_ATOMICS_OF_SPACE, )

#if __OPENCL_C_VERSION__ >= 200
#define atomic_init(at, value) __opencl_atomic_init(at, value)
#define atomic_load_explicit(at, order, ...) \
  __opencl_atomic_load(at, memory_order_seq_cst, memory_scope_device)
#define atomic_load(at) __opencl_atomic_load(at, memory_order_seq_cst, memory_scope_device)
#define atomic_store_explicit(at, value, order, ...) \
  __opencl_atomic_store(at, value, memory_order_seq_cst, memory_scope_device)
#define atomic_store(at, value) \
  __opencl_atomic_store(at, value, memory_order_seq_cst, memory_scope_device)
#define TANDEM_ATOMIC_FETCH(operation, at, value) \
  __opencl_atomic_##operation(at, value, memory_order_seq_cst, memory_scope_device)
#define atomic_exchange(at, value) TANDEM_ATOMIC_FETCH(exchange, at, value)
#define atomic_exchange_explicit(at, value, ...) TANDEM_ATOMIC_FETCH(exchange, at, value)
#define atomic_fetch_add(at, value) TANDEM_ATOMIC_FETCH(fetch_add, at, value)
#define atomic_fetch_add_explicit(at, value, ...) TANDEM_ATOMIC_FETCH(fetch_add, at, value)
#define atomic_fetch_sub(at, value) TANDEM_ATOMIC_FETCH(fetch_sub, at, value)
#define atomic_fetch_sub_explicit(at, value, ...) TANDEM_ATOMIC_FETCH(fetch_sub, at, value)
#define atomic_fetch_or(at, value) TANDEM_ATOMIC_FETCH(fetch_or, at, value)
#define atomic_fetch_or_explicit(at, value, ...) TANDEM_ATOMIC_FETCH(fetch_or, at, value)
#define atomic_fetch_xor(at, value) TANDEM_ATOMIC_FETCH(fetch_xor, at, value)
#define atomic_fetch_xor_explicit(at, value, ...) TANDEM_ATOMIC_FETCH(fetch_xor, at, value)
#define atomic_fetch_and(at, value) TANDEM_ATOMIC_FETCH(fetch_and, at, value)
#define atomic_fetch_and_explicit(at, value, ...) TANDEM_ATOMIC_FETCH(fetch_and, at, value)
#define atomic_fetch_min(at, value) TANDEM_ATOMIC_FETCH(fetch_min, at, value)
#define atomic_fetch_min_explicit(at, value, ...) TANDEM_ATOMIC_FETCH(fetch_min, at, value)
#define atomic_fetch_max(at, value) TANDEM_ATOMIC_FETCH(fetch_max, at, value)
#define atomic_fetch_max_explicit(at, value, ...) TANDEM_ATOMIC_FETCH(fetch_max, at, value)
#define TANDEM_ATOMIC_EXCHANGE_IF(strength, at, expected, value)                         \
  __opencl_atomic_compare_exchange_##strength(at, expected, value, memory_order_seq_cst, \
                                              memory_order_seq_cst, memory_scope_device)
#define atomic_compare_exchange_strong(at, expected, value) \
  TANDEM_ATOMIC_EXCHANGE_IF(strong, at, expected, value)
#define atomic_compare_exchange_strong_explicit(at, expected, value, ...) \
  TANDEM_ATOMIC_EXCHANGE_IF(strong, at, expected, value)
#define atomic_compare_exchange_weak(at, expected, value) \
  TANDEM_ATOMIC_EXCHANGE_IF(weak, at, expected, value)
#define atomic_compare_exchange_weak_explicit(at, expected, value, ...) \
  TANDEM_ATOMIC_EXCHANGE_IF(weak, at, expected, value)
#define atomic_flag_test_and_set(at) (TANDEM_ATOMIC_FETCH(exchange, at, 1) != 0)
#define atomic_flag_clear(at) atomic_store(at, 0)
#endif
