// SPDX-License-Identifier: Apache-2.0
//
// hls::print: a kernel's printf with at most one number, to standard output.
//
// The format takes the conversions of printf. It ignores length modifiers, because the value's type
// is known. Text without a conversion is printed as it is. One call prints as a whole, also when
// several processes print. Source: Vitis HLS user guide (UG1399), "HLS Print Function". C++11.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>

#include "tandem_macros_begin.h"

namespace hls {
namespace print_detail {

// One piece of a format: text, and where it has a conversion its flags and letter.
struct Directive {
  std::string before;  // with "%%" turned into "%"
  std::string spec;    // "%" and flags, width, precision
  char conversion;     // 0: the format has none
  const char* rest;
};

inline Directive first_directive(const char* format) {
  Directive found;
  found.conversion = 0;
  for (; *format != '\0'; ++format) {
    if (*format != '%') {
      found.before += *format;
    } else if (format[1] == '%') {
      found.before += *format++;
    } else {
      found.spec = *format++;
      while (*format != '\0' && std::strchr("-+ #0123456789.", *format) != nullptr) {
        found.spec += *format++;
      }
      while (*format != '\0' && std::strchr("hlLqjzt", *format) != nullptr) ++format;
      found.conversion = *format;
      if (*format != '\0') ++format;
      break;
    }
  }
  found.rest = format;
  return found;
}

inline bool is_floating(char conversion) {
  return conversion != '\0' && std::strchr("fFeEgGaA", conversion) != nullptr;
}

template <typename Value>
std::string formatted(const std::string& spec, Value value) {
  char text[512];
  std::snprintf(text, sizeof(text), spec.c_str(), value);
  return text;
}

// `bits`: the value's two's complement, cut to the width of its type for the unsigned conversions.
inline void print_number(const char* format, long long number, unsigned long long bits,
                         double real) {
  const Directive found = first_directive(format);
  std::string text = found.before;
  if (is_floating(found.conversion)) {
    text += formatted(found.spec + found.conversion, real);
  } else if (found.conversion == 'd' || found.conversion == 'i') {
    text += formatted(found.spec + "ll" + found.conversion, number);
  } else if (found.conversion == 'c') {
    text += static_cast<char>(number);
  } else if (found.conversion != '\0') {
    text += formatted(found.spec + "ll" + found.conversion, bits);
  }
  text += first_directive(found.rest).before;
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace print_detail

inline void print(const char* format) {
  std::fputs(print_detail::first_directive(format).before.c_str(), stdout);
  std::fflush(stdout);
}
inline void print(const char* format, int value) {
  print_detail::print_number(format, value, static_cast<unsigned>(value), value);
}
inline void print(const char* format, unsigned value) {
  print_detail::print_number(format, value, value, value);
}
inline void print(const char* format, long value) {
  print_detail::print_number(format, value, static_cast<unsigned long>(value),
                             static_cast<double>(value));
}
inline void print(const char* format, unsigned long value) {
  print_detail::print_number(format, static_cast<long long>(value), value,
                             static_cast<double>(value));
}
inline void print(const char* format, long long value) {
  print_detail::print_number(format, value, static_cast<unsigned long long>(value),
                             static_cast<double>(value));
}
inline void print(const char* format, unsigned long long value) {
  print_detail::print_number(format, static_cast<long long>(value), value,
                             static_cast<double>(value));
}
inline void print(const char* format, double value) {
  // An integer conversion prints 0 for a value that no integer can hold.
  const bool fits = value > -9.2e18 && value < 9.2e18;
  const long long whole = fits ? static_cast<long long>(value) : 0;
  print_detail::print_number(format, whole, static_cast<unsigned long long>(whole), value);
}
inline void print(const char* format, float value) { print(format, static_cast<double>(value)); }

}  // namespace hls

#include "tandem_macros_end.h"
