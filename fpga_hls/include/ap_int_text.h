// SPDX-License-Identifier: Apache-2.0
//
// Integers of any width as text: reads "-0x1F", "0b101", "0o17", "42" or digits of a radix, writes
// radix 2, 8, 10 and 16.
//
// Radix 2, 8 and 16 show all bits after a prefix; radix 10 shows the number. Text that is not a
// number throws std::invalid_argument. Cost: linear in digits times limbs. C++11.
#pragma once

#include <stdexcept>
#include <string>

#include "ap_int_limbs.h"

#include "tandem_macros_begin.h"

namespace ap_detail {

inline int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

// Returns the radix that the prefix of `text` names, or 0 without a prefix.
inline int prefixed_radix(const char* text, int radix) {
  if (text[0] != '0' || text[1] == '\0') return 0;
  const int kind = text[1] | 0x20;
  if (kind == 'x') return 16;
  if (kind == 'o') return 8;
  return kind == 'b' && radix != 16 ? 2 : 0;
}

// Writes the number in `text`, modulo 2^(64 n), to the n limbs of `value`.
inline void parse(const char* text, int radix, int n, Limb* value) {
  for (int i = 0; i < n; ++i) value[i] = 0;
  const std::string whole(text);
  const bool negative = *text == '-';
  if (*text == '-' || *text == '+') ++text;
  const int named = prefixed_radix(text, radix);
  if (named != 0) {
    radix = named;
    text += 2;
  }
  if (*text == '\0') throw std::invalid_argument("ap_int: no digits in '" + whole + "'");
  for (; *text != '\0'; ++text) {
    if (*text == '_') continue;
    const int digit = digit_of(*text);
    if (digit >= radix) {
      throw std::invalid_argument("ap_int: '" + std::string(1, *text) + "' in '" + whole +
                                  "' is not a digit of radix " + std::to_string(radix));
    }
    multiply_small(value, static_cast<std::uint32_t>(radix), static_cast<std::uint32_t>(digit), n);
  }
  if (negative) negate(value, n);
}

// Returns the digits of a number of `width` bits that is extended to n limbs. Overwrites `value`.
inline std::string text_of(Limb* value, int n, int width, int radix, bool as_signed) {
  const bool negative = radix == 10 && as_signed && bit(value, 64 * n - 1);
  if (negative) negate(value, n);
  if (radix != 10 || !as_signed) {  // the bits of the number, not of its extension
    for (int i = width; i < 64 * n; ++i) set_bit(value, i, false);
  }
  std::string digits;
  const int bits_per_digit = radix == 16 ? 4 : (radix == 8 ? 3 : 1);
  const int least = radix == 10 ? 1 : (width + bits_per_digit - 1) / bits_per_digit;
  while (static_cast<int>(digits.size()) < least || !is_zero(value, n)) {
    const std::uint32_t digit = divide_small(value, static_cast<std::uint32_t>(radix), n);
    digits += "0123456789abcdefghijklmnopqrstuvwxyz"[digit];
  }
  const char* prefix = radix == 16 ? "x0" : (radix == 8 ? "o0" : (radix == 2 ? "b0" : ""));
  digits += negative ? "-" : prefix;
  return std::string(digits.rbegin(), digits.rend());
}

}  // namespace ap_detail

#include "tandem_macros_end.h"
