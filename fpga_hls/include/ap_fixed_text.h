// SPDX-License-Identifier: Apache-2.0
//
// Fixed-point numbers as text: "0b1.01", "-0x0.8", "0.15625".
//
// Reading accepts a sign, a prefix or a given radix, and a point; text in radix 10 becomes a
// double. Text that is not a number throws std::invalid_argument. Writing is exact; radix 2, 8 and
// 16 show the bits after a prefix. C++11.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "ap_int_ops.h"

#include "tandem_macros_begin.h"

namespace ap_detail {

// Whether `value` lies exactly between two neighbours of `digits` significant decimal digits.
inline bool is_halfway(double value, int digits) {
  if (digits < 1) digits = 1;
  constexpr int kAll = 1100;  // no double has more
  char text[kAll + 16];
  if (digits >= kAll) return false;
  std::snprintf(text, sizeof text, "%.*e", digits, value);
  const char* const exponent = std::strchr(text, 'e');
  if (exponent == nullptr || exponent[-1] != '5') return false;  // nullptr: beyond all doubles
  std::snprintf(text, sizeof text, "%.*e", kAll, value);
  // "-d.ddd": the digit behind the last one.
  const char* const rest = text + (*text == '-' ? 1 : 0) + 1 + digits;
  return rest[1 + std::strspn(rest + 1, "0")] == 'e';
}

// Reads a text in radix 2, 8 or 16 as digits * 2^exponent. For radix 10 it returns false and sets
// *decimal. Digits of the fraction that do not fit into *digits have no effect.
template <typename T>
bool read_digits(const char* text, int radix, T* digits, int* exponent, double* decimal) {
  const std::string whole(text);
  const bool negative = *text == '-';
  if (*text == '-' || *text == '+') ++text;
  const int named = prefixed_radix(text, radix);
  if (named != 0) {
    radix = named;
    text += 2;
  }
  if (radix != 2 && radix != 8 && radix != 16) {
    char* end = nullptr;
    *decimal = std::strtod(whole.c_str(), &end);
    if (end == whole.c_str() || *end != '\0') {
      throw std::invalid_argument("ap_fixed: '" + whole + "' is not a number");
    }
    return false;
  }
  const int bits = radix == 2 ? 1 : (radix == 8 ? 3 : 4);
  *digits = T(0);
  *exponent = 0;
  bool point = false, any = false;
  for (; *text != '\0'; ++text) {
    if (*text == '.' && !point) {
      point = true;
      continue;
    }
    const int digit = digit_of(*text);
    if (digit >= radix) throw std::invalid_argument("ap_fixed: '" + whole + "' is not a number");
    any = true;
    if (point && *exponent < -(T::width - 70)) continue;
    *digits = T(digits->shifted_left(bits) | digit);
    if (point) *exponent -= bits;
  }
  if (!any) throw std::invalid_argument("ap_fixed: no digits in '" + whole + "'");
  if (negative) *digits = T(-*digits);
  return true;
}

// The text of value * 2^-fraction_bits. `whole_bits`: number of bits before the point.
template <typename T>
std::string fixed_text(const T& value, int fraction_bits, int whole_bits, int radix) {
  typedef ap_int_base<T::width + 4, false> Wide;
  const bool negative = radix == 10 && value.sign();
  const T magnitude = negative ? T(-value) : value;
  const int digit_bits = radix == 2 ? 1 : (radix == 8 ? 3 : 4);
  std::string text = negative ? "-" : "";
  if (radix == 10) {
    text += T(magnitude.shifted_right(fraction_bits)).to_string(10);
  } else {
    text += radix == 2 ? "0b" : (radix == 8 ? "0o" : "0x");
    const Wide whole(magnitude.shifted_right(fraction_bits));
    for (int at = (whole_bits + digit_bits - 1) / digit_bits - 1; at >= 0; --at) {
      const int count = smaller(digit_bits, whole_bits - at * digit_bits);
      text += "0123456789abcdef"[whole.get(at * digit_bits, count)];
    }
  }
  Wide rest(magnitude);
  const Wide mask = Wide(~Wide(Wide(~Wide(0)).shifted_left(fraction_bits)));
  rest &= mask;
  if (fraction_bits > 0) text += '.';
  for (int done = 0; done < fraction_bits && (radix != 10 || done == 0 || !rest.is_zero());
       done += radix == 10 ? 1 : digit_bits) {
    rest = radix == 10 ? Wide(rest * 10) : rest.shifted_left(digit_bits);
    text += "0123456789abcdef"[rest.shifted_right(fraction_bits).to_uint() & 15];
    rest &= mask;
  }
  return text;
}

}  // namespace ap_detail

#include "tandem_macros_end.h"
