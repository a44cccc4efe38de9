// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic under ap_int: two's complement numbers of any width as 64-bit limbs, lowest first.
//
// Functions work modulo 2^(64 * n) on arrays of n limbs and know neither sign nor width;
// ap_int_base extends operands first and cuts results after. Not for kernels to use directly. Cost:
// linear in n, products quadratic, quotients quadratic in bits. C++14.
#pragma once

#include <cstdint>

namespace ap_detail {

typedef std::uint64_t Limb;

constexpr int limb_count(int bits) { return (bits + 63) / 64; }

// The low `bits` (1..64) of `value`, sign-extended or zero-extended to 64.
inline Limb cut(Limb value, int bits, bool is_signed) {
  const int unused = 64 - bits;
  return is_signed ? static_cast<Limb>(static_cast<std::int64_t>(value << unused) >> unused)
                   : (value << unused) >> unused;
}

inline void add(const Limb* a, const Limb* b, Limb carry, int n, Limb* sum) {
  for (int i = 0; i < n; ++i) {
    const Limb partial = a[i] + carry;
    const Limb total = partial + b[i];
    carry = static_cast<Limb>(partial < carry) + static_cast<Limb>(total < partial);
    sum[i] = total;
  }
}

inline void negate(Limb* a, int n) {
  Limb carry = 1;
  for (int i = 0; i < n; ++i) {
    a[i] = ~a[i] + carry;
    carry = carry != 0 && a[i] == 0 ? 1 : 0;
  }
}

// a - b.
inline void subtract(const Limb* a, const Limb* b, int n, Limb* difference) {
  Limb borrow = 0;
  for (int i = 0; i < n; ++i) {
    const Limb partial = a[i] - borrow;
    const Limb under = static_cast<Limb>(a[i] < borrow) + static_cast<Limb>(partial < b[i]);
    difference[i] = partial - b[i];
    borrow = under;
  }
}

// The low n limbs of a * b; `product` is neither.
inline void multiply(const Limb* a, const Limb* b, int n, Limb* product) {
  for (int i = 0; i < n; ++i) product[i] = 0;
  for (int i = 0; i < n; ++i) {
    Limb carry = 0;
    for (int j = 0; i + j < n; ++j) {
      const unsigned __int128 sum =
          static_cast<unsigned __int128>(a[i]) * b[j] + product[i + j] + carry;
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
  for (int i = 0; i < n; ++i) {
    if (a[i] != 0) return false;
  }
  return true;
}

inline bool bit(const Limb* a, int at) { return ((a[at / 64] >> (at % 64)) & 1) != 0; }

inline void set_bit(Limb* a, int at, bool value) {
  const Limb mask = Limb(1) << (at % 64);
  a[at / 64] = value ? a[at / 64] | mask : a[at / 64] & ~mask;
}

inline void shift_left(const Limb* a, int by, int n, Limb* result) {
  const int whole = by / 64, part = by % 64;
  for (int i = n - 1; i >= 0; --i) {
    const Limb high = i >= whole ? a[i - whole] : 0;
    const Limb low = i >= whole + 1 ? a[i - whole - 1] : 0;
    result[i] = part == 0 ? high : (high << part) | (low >> (64 - part));
  }
}

// `fill`: what comes in from above, all zeros or all ones.
inline void shift_right(const Limb* a, int by, Limb fill, int n, Limb* result) {
  const int whole = by / 64, part = by % 64;
  for (int i = 0; i < n; ++i) {
    const Limb low = i + whole < n ? a[i + whole] : fill;
    const Limb high = i + whole + 1 < n ? a[i + whole + 1] : fill;
    result[i] = part == 0 ? low : (low >> part) | (high << (64 - part));
  }
}

// Unsigned a / b by shifting and subtracting; b is not zero. `remainder` and `quotient` are neither
// a nor b.
inline void divide(const Limb* a, const Limb* b, int n, Limb* quotient, Limb* remainder) {
  for (int i = 0; i < n; ++i) quotient[i] = remainder[i] = 0;
  if (n == 1) {
    quotient[0] = a[0] / b[0];
    remainder[0] = a[0] % b[0];
    return;
  }
  for (int at = 64 * n - 1; at >= 0; --at) {
    const bool over = bit(remainder, 64 * n - 1);  // the shift below would lose it
    for (int i = n - 1; i > 0; --i) remainder[i] = (remainder[i] << 1) | (remainder[i - 1] >> 63);
    remainder[0] = (remainder[0] << 1) | static_cast<Limb>(bit(a, at));
    if (over || compare(remainder, b, n) >= 0) {
      subtract(remainder, b, n, remainder);
      set_bit(quotient, at, true);
    }
  }
}

// a = a / small; returns the remainder.
inline std::uint32_t divide_small(Limb* a, std::uint32_t small, int n) {
  unsigned __int128 rest = 0;
  for (int i = n - 1; i >= 0; --i) {
    const unsigned __int128 value = (rest << 64) | a[i];
    a[i] = static_cast<Limb>(value / small);
    rest = value % small;
  }
  return static_cast<std::uint32_t>(rest);
}

// a = a * small + more.
inline void multiply_small(Limb* a, std::uint32_t small, std::uint32_t more, int n) {
  unsigned __int128 carry = more;
  for (int i = 0; i < n; ++i) {
    const unsigned __int128 value = static_cast<unsigned __int128>(a[i]) * small + carry;
    a[i] = static_cast<Limb>(value);
    carry = value >> 64;
  }
}

}  // namespace ap_detail
