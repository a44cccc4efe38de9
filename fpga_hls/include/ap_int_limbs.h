// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of numbers of more than 128 bits: two's complement in 64-bit limbs, lowest first.
//
// Functions work modulo 2^(64 * n) on arrays of n limbs. They know neither sign nor width:
// ap_int_base extends the operands first and truncates the result afterwards. Kernels do not use
// this file directly. Cost: linear in n; products and quotients quadratic (Knuth's algorithm D on
// 32-bit digits). C++11.
#pragma once

#include "ap_number.h"

#include "tandem_macros_begin.h"

namespace ap_detail {

constexpr int limb_count(int bits) { return (bits + 63) / 64; }

// The low `bits` (1..64) of `value`, sign-extended or zero-extended to 64.
inline Limb cut(Limb value, int bits, bool is_signed) {
  const int unused = 64 - bits;
  return is_signed ? static_cast<Limb>(static_cast<std::int64_t>(value << unused) >> unused)
                   : (value << unused) >> unused;
}

inline void negate(Limb* a, int n) {
  Limb carry = 1;
  for (int i = 0; i < n; ++i) {
    a[i] = ~a[i] + carry;
    carry = carry != 0 && a[i] == 0 ? 1 : 0;
  }
}

// product = the low n limbs of a * b. `product` must be other memory than a and b.
inline void multiply(const Limb* a, const Limb* b, int n, Limb* product) {
  for (int i = 0; i < n; ++i) product[i] = 0;
  for (int i = 0; i < n; ++i) {
    if (a[i] == 0) continue;
    Limb carry = 0;
    for (int j = 0; i + j < n; ++j) {
      const Uint128 sum = static_cast<Uint128>(a[i]) * b[j] + product[i + j] + carry;
      product[i + j] = static_cast<Limb>(sum);
      carry = static_cast<Limb>(sum >> 64);
    }
  }
}

inline int compare(const Limb* a, const Limb* b, int n) {
  for (int i = n - 1; i >= 0; --i) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

inline bool is_zero(const Limb* a, int n) {
  Limb any = 0;
  for (int i = 0; i < n; ++i) any |= a[i];
  return any == 0;
}

inline bool bit(const Limb* a, int at) { return ((a[at / 64] >> (at % 64)) & 1) != 0; }

inline void set_bit(Limb* a, int at, bool value) {
  const Limb mask = Limb(1) << (at % 64);
  a[at / 64] = value ? a[at / 64] | mask : a[at / 64] & ~mask;
}

// `result` may be a. `by` is less than 64 n.
inline void shift_left(const Limb* a, int by, int n, Limb* result) {
  const int whole = by / 64, part = by % 64;
  for (int i = n - 1; i > whole; --i) {
    result[i] = (a[i - whole] << part) | (a[i - whole - 1] >> 1 >> (63 - part));
  }
  result[whole] = a[0] << part;
  for (int i = whole - 1; i >= 0; --i) result[i] = 0;
}

// `fill`: the bits that are shifted in, all zeros or all ones. `result` may be a. `by` is less than
// 64 n.
inline void shift_right(const Limb* a, int by, Limb fill, int n, Limb* result) {
  const int whole = by / 64, part = by % 64, last = n - 1 - whole;
  for (int i = 0; i < last; ++i) {
    result[i] = (a[i + whole] >> part) | (a[i + whole + 1] << 1 << (63 - part));
  }
  result[last] = (a[n - 1] >> part) | (fill << 1 << (63 - part));
  for (int i = last + 1; i < n; ++i) result[i] = fill;
}

// Bits low .. low + count - 1, count at most 64, all inside the n limbs.
inline Limb extract(const Limb* a, int low, int count, int n) {
  const int at = low / 64, part = low % 64;
  Limb value = a[at] >> part;
  if (part != 0 && at + 1 < n) value |= a[at + 1] << (64 - part);
  return cut(value, count, false);
}

// Writes the low `count` (at most 64) bits of `value` to bits low .. low + count - 1.
inline void insert(Limb* a, int low, int count, Limb value) {
  const int at = low / 64, part = low % 64;
  const Limb mask = cut(~Limb(0), count, false);
  a[at] = (a[at] & ~(mask << part)) | ((value & mask) << part);
  if (part + count > 64) {
    a[at + 1] = (a[at + 1] & ~(mask >> (64 - part))) | ((value & mask) >> (64 - part));
  }
}

inline std::uint32_t digit32(const Limb* a, int at) {
  return static_cast<std::uint32_t>(a[at / 2] >> (at % 2 * 32));
}
inline void set_digit32(Limb* a, int at, std::uint32_t value) {
  const int shift = at % 2 * 32;
  a[at / 2] = (a[at / 2] & ~(Limb(0xffffffffu) << shift)) | (static_cast<Limb>(value) << shift);
}

// a = a / small; returns the remainder.
inline std::uint32_t divide_small(Limb* a, std::uint32_t small, int n) {
  Limb rest = 0;
  for (int i = 2 * n - 1; i >= 0; --i) {
    const Limb value = (rest << 32) | digit32(a, i);
    set_digit32(a, i, static_cast<std::uint32_t>(value / small));
    rest = value % small;
  }
  return static_cast<std::uint32_t>(rest);
}

// a = a * small + more.
inline void multiply_small(Limb* a, std::uint32_t small, std::uint32_t more, int n) {
  Limb carry = more;
  for (int i = 0; i < n; ++i) {
    const Uint128 value = static_cast<Uint128>(a[i]) * small + carry;
    a[i] = static_cast<Limb>(value);
    carry = static_cast<Limb>(value >> 64);
  }
}

// rest[at .. at + digits] -= quotient * divisor, in 32-bit digits. Returns true if the result is
// below zero.
inline bool subtract_multiple(std::uint32_t* rest, const std::uint32_t* divisor, int digits,
                              Limb quotient) {
  Limb carry = 0;
  std::int64_t borrow = 0;
  for (int i = 0; i <= digits; ++i) {
    const Limb product = (i < digits ? quotient * divisor[i] : 0) + carry;
    carry = product >> 32;
    const std::int64_t digit = static_cast<std::int64_t>(rest[i]) -
                               static_cast<std::int64_t>(product & 0xffffffffu) + borrow;
    rest[i] = static_cast<std::uint32_t>(digit);
    borrow = digit >> 32;
  }
  return borrow < 0;
}
inline void give_back(std::uint32_t* rest, const std::uint32_t* divisor, int digits) {
  Limb carry = 0;
  for (int i = 0; i <= digits; ++i) {
    carry += static_cast<Limb>(rest[i]) + (i < digits ? divisor[i] : 0);
    rest[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
}

// Unsigned a / b; b is not zero. `quotient` and `remainder` are neither a nor b; room for
// 2 * N + 1 digits. N: the limbs of each.
template <int N>
void divide(const Limb* a, const Limb* b, Limb* quotient, Limb* remainder) {
  int digits = 2 * N;  // digits of b
  while (digits > 0 && digit32(b, digits - 1) == 0) --digits;
  for (int i = 0; i < N; ++i) {
    quotient[i] = a[i];
    remainder[i] = 0;
  }
  if (digits <= 1) {
    remainder[0] = divide_small(quotient, digit32(b, 0), N);
    return;
  }
  // The divisor's highest digit gets its highest bit, so that a digit guessed from it is close.
  const int shift = __builtin_clz(digit32(b, digits - 1));
  std::uint32_t divisor[2 * N], rest[2 * N + 1];
  for (int i = 0; i < digits; ++i) {
    const Limb pair = (static_cast<Limb>(digit32(b, i)) << 32) | (i > 0 ? digit32(b, i - 1) : 0);
    divisor[i] = static_cast<std::uint32_t>((pair << shift) >> 32);
  }
  for (int i = 0; i <= 2 * N; ++i) {
    const Limb pair =
        (static_cast<Limb>(i < 2 * N ? digit32(a, i) : 0) << 32) | (i > 0 ? digit32(a, i - 1) : 0);
    rest[i] = static_cast<std::uint32_t>((pair << shift) >> 32);
  }
  for (int at = 2 * N - 1; at > 2 * N - digits; --at) set_digit32(quotient, at, 0);
  for (int at = 2 * N - digits; at >= 0; --at) {
    const Limb top = (static_cast<Limb>(rest[at + digits]) << 32) | rest[at + digits - 1];
    Limb guess = top / divisor[digits - 1], over = top % divisor[digits - 1];
    while (guess > 0xffffffffu ||
           (over <= 0xffffffffu &&
            guess * divisor[digits - 2] > ((over << 32) | rest[at + digits - 2]))) {
      --guess;
      over += divisor[digits - 1];
    }
    if (subtract_multiple(rest + at, divisor, digits, guess)) {
      --guess;
      give_back(rest + at, divisor, digits);
    }
    set_digit32(quotient, at, static_cast<std::uint32_t>(guess));
  }
  for (int i = 0; i < digits; ++i) {
    const Limb pair = (static_cast<Limb>(rest[i + 1]) << 32) | rest[i];
    set_digit32(remainder, i, static_cast<std::uint32_t>(pair >> shift));
  }
}

}  // namespace ap_detail

#include "tandem_macros_end.h"
