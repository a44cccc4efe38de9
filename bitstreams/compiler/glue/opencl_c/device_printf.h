// SPDX-License-Identifier: Apache-2.0
//
// printf of OpenCL C: the C library's conversions, and vectors ("%v4hlf", "%v2d").
//
// The text goes to the standard output of the card's process, which it shares with the application,
// and is flushed at the end of a kernel. C++14. Source: OpenCL C 2.0, section 6.13.13; the System V
// ABI for how "..." passes a vector.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace tandem_opencl {

// Stands for a vector of more than 16 bytes: the ABI passes both in memory.
template <std::size_t kBytes>
struct alignas(kBytes) Passed {
  unsigned char bytes[kBytes];
};
typedef float FourFloats __attribute__((vector_size(16)));

// One conversion: "%[flags][width][.precision][vN][length]c".
struct Conversion {
  std::string options;  // flags, width and precision
  int elements = 0;     // 0: not a vector
  std::string length;
  char letter = 0;

  bool real() const { return std::strchr("aAeEfFgG", letter) != nullptr; }
  std::size_t element_bytes() const {
    if (length == "hh") return 1;
    if (length == "h") return 2;
    if (length == "l") return 8;
    return 4;  // "hl", or a vector without a length
  }
};

class Printer {
 public:
  Printer(const char* format, std::va_list arguments) : at_(format) {
    va_copy(arguments_, arguments);
  }
  ~Printer() { va_end(arguments_); }
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;

  std::string run() {
    while (*at_ != 0) {
      if (*at_ != '%') {
        text_ += *at_++;
      } else if (at_[1] == '%') {
        text_ += '%';
        at_ += 2;
      } else {
        print(parse());
      }
    }
    return text_;
  }

 private:
  Conversion parse() {
    Conversion found;
    ++at_;
    while (*at_ != 0 && std::strchr("-+ #0123456789.*", *at_) != nullptr) {
      if (*at_ == '*') {
        found.options += std::to_string(va_arg(arguments_, int));
      } else {
        found.options += *at_;
      }
      ++at_;
    }
    if (*at_ == 'v') {
      ++at_;
      while (*at_ >= '0' && *at_ <= '9') found.elements = found.elements * 10 + (*at_++ - '0');
    }
    while (*at_ == 'h' || *at_ == 'l') found.length += *at_++;
    if (*at_ != 0) found.letter = *at_++;
    return found;
  }

  template <typename Value>
  void put(const Conversion& how, const char* length, Value value) {
    const std::string format = "%" + how.options + length + how.letter;
    char buffer[512];
    const int size = std::snprintf(buffer, sizeof(buffer), format.c_str(), value);
    if (size > 0) text_.append(buffer, std::min<std::size_t>(size, sizeof(buffer) - 1));
  }

  void print(const Conversion& how) {
    if (how.elements != 0) {
      print_vector(how);
    } else if (how.letter == 's') {
      const char* const word = va_arg(arguments_, const char*);
      text_ += word != nullptr ? word : "(null)";
    } else if (how.letter == 'p') {
      put(how, "", va_arg(arguments_, void*));
    } else if (how.real()) {
      put(how, "", va_arg(arguments_, double));
    } else if (how.letter != 0) {
      if (how.length == "l") {
        put(how, "l", va_arg(arguments_, long));
      } else {
        put(how, how.letter == 'c' ? "" : how.length.c_str(), va_arg(arguments_, int));
      }
    }
  }

  // Takes a vector of `size` bytes from the arguments.
  void take(std::size_t size, unsigned char* to) {
    if (size <= 4) {
      const int word = va_arg(arguments_, int);
      std::memcpy(to, &word, 4);
    } else if (size == 8) {
      const double pair = va_arg(arguments_, double);
      std::memcpy(to, &pair, 8);
    } else if (size == 16) {
      const FourFloats whole = va_arg(arguments_, FourFloats);
      std::memcpy(to, &whole, 16);
    } else if (size == 32) {
      const Passed<32> whole = va_arg(arguments_, Passed<32>);
      std::memcpy(to, &whole, 32);
    } else if (size == 64) {
      const Passed<64> whole = va_arg(arguments_, Passed<64>);
      std::memcpy(to, &whole, 64);
    } else {
      const Passed<128> whole = va_arg(arguments_, Passed<128>);
      std::memcpy(to, &whole, 128);
    }
  }

  void print_vector(const Conversion& how) {
    const std::size_t width = how.element_bytes();
    const std::size_t held = how.elements == 3 ? 4 : static_cast<std::size_t>(how.elements);
    unsigned char values[128];
    if (how.elements < 2 || held > 16) return;
    take(held * width, values);
    for (int element = 0; element < how.elements; ++element) {
      if (element != 0) text_ += ',';
      print_element(how, width, values + element * width);
    }
  }

  void print_element(const Conversion& how, std::size_t width, const unsigned char* from) {
    if (how.real() && width == 4) {
      float value;
      std::memcpy(&value, from, 4);
      put(how, "", static_cast<double>(value));
    } else if (how.real()) {
      double value;
      std::memcpy(&value, from, 8);
      put(how, "", value);
    } else {
      std::int64_t value = 0;
      std::memcpy(&value, from, width);
      const int unused = 64 - static_cast<int>(width) * 8;
      const bool has_sign = how.letter == 'd' || how.letter == 'i';
      if (has_sign)
        value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused;
      put(how, "l", static_cast<long>(value));
    }
  }

  const char* at_;
  std::va_list arguments_;
  std::string text_;
};

}  // namespace tandem_opencl
