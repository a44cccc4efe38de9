// SPDX-License-Identifier: Apache-2.0
//
// ap_float<W, E>: a binary floating-point number of W bits, E of them the exponent.
//
// As IEEE 754: a sign, a biased exponent, a fraction of W - E - 1 bits, infinities and NaN.
// Subnormal results and arguments are zero. Every operation is rounded to nearest, ties to even.
// Exponents have at most 11 bits, fractions 52. Numbers convert to it implicitly, and from it
// explicitly. ap_float_acc<T, A> sums in a fixed-point number A. Source: Vitis HLS user guide
// (UG1399), "Arbitrary Precision Floating-Point Library". C++11.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <limits>
#include <type_traits>

#include "ap_fixed.h"
#include "ap_int.h"
#include "tandem_macros_begin.h"

template <int W, int E>
class ap_float {
  static_assert(E >= 2 && E <= 11 && W - E - 1 >= 1 && W - E - 1 <= 52,
                "ap_float: 2 to 11 bits of exponent and 1 to 52 bits of fraction");

 public:
  static constexpr int width = W;
  static constexpr int exponent_width = E;
  static constexpr int fraction_width = W - E - 1;

  ap_float() : bits_(0) {}
  ap_float(float value) : bits_(encoded(static_cast<double>(value))) {}
  ap_float(double value) : bits_(encoded(value)) {}
  template <typename T, typename std::enable_if<std::is_integral<T>::value, int>::type = 0>
  ap_float(T value) : bits_(encoded_integer(value)) {}
  template <int W2, int E2>
  ap_float(const ap_float<W2, E2>& other) : bits_(encoded(other.to_double())) {}
  template <int W2, int I2, ap_q_mode Q, ap_o_mode O, int N>
  explicit ap_float(const ap_fixed<W2, I2, Q, O, N>& value) : bits_(encoded(value.to_double())) {}

  static ap_float from_bits(const ap_uint<W>& bits) {
    ap_float result;
    result.bits_ = bits.to_uint64();
    return result;
  }
  ap_uint<W> to_bits() const { return ap_uint<W>(bits_); }

  double to_double() const {
    const std::uint64_t fraction = bits_ & kFractionMask;
    const int exponent = static_cast<int>((bits_ >> fraction_width) & kExponentMask);
    double value = 0.0;
    if (exponent == static_cast<int>(kExponentMask)) {
      value = fraction == 0 ? std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::quiet_NaN();
    } else if (exponent != 0) {
      value = std::ldexp(static_cast<double>(fraction | (kFractionMask + 1)),
                         exponent - kBias - fraction_width);
    }
    return (bits_ & kSign) != 0 ? -value : value;
  }
  float to_float() const { return static_cast<float>(to_double()); }
  explicit operator float() const { return to_float(); }
  explicit operator double() const { return to_double(); }
  template <typename T, typename std::enable_if<std::is_integral<T>::value, int>::type = 0>
  explicit operator T() const {
    return static_cast<T>(to_double());
  }

  ap_float operator-() const {
    ap_float result(*this);
    result.bits_ ^= kSign;
    return result;
  }
  ap_float operator+() const { return *this; }

  // The sum of two numbers may need more bits than a double has: the error of its rounding decides
  // the second one.
  friend ap_float operator+(const ap_float& a, const ap_float& b) {
    const double x = a.to_double(), y = b.to_double(), sum = x + y;
    if (!std::isfinite(sum)) return of_double(sum);
    const double back = sum - x;
    return of_double(sum, (x - (sum - back)) + (y - back));
  }
  friend ap_float operator-(const ap_float& a, const ap_float& b) { return a + -b; }
  friend ap_float operator*(const ap_float& a, const ap_float& b) {
    const double x = a.to_double(), y = b.to_double(), product = x * y;
    if (!std::isfinite(product)) return of_double(product);
    return of_double(product, std::fma(x, y, -product));
  }
  friend ap_float operator/(const ap_float& a, const ap_float& b) {
    const double x = a.to_double(), y = b.to_double(), quotient = x / y;
    if (!std::isfinite(quotient) || !std::isfinite(y)) return of_double(quotient);
    const double rest = std::fma(-quotient, y, x);
    return of_double(quotient, y < 0 ? -rest : rest);
  }
  ap_float& operator+=(const ap_float& other) { return *this = *this + other; }
  ap_float& operator-=(const ap_float& other) { return *this = *this - other; }
  ap_float& operator*=(const ap_float& other) { return *this = *this * other; }
  ap_float& operator/=(const ap_float& other) { return *this = *this / other; }

  friend bool operator==(const ap_float& a, const ap_float& b) {
    return a.to_double() == b.to_double();
  }
  friend bool operator!=(const ap_float& a, const ap_float& b) { return !(a == b); }
  friend bool operator<(const ap_float& a, const ap_float& b) {
    return a.to_double() < b.to_double();
  }
  friend bool operator>(const ap_float& a, const ap_float& b) { return b < a; }
  friend bool operator<=(const ap_float& a, const ap_float& b) {
    return a.to_double() <= b.to_double();
  }
  friend bool operator>=(const ap_float& a, const ap_float& b) { return b <= a; }
  friend std::ostream& operator<<(std::ostream& out, const ap_float& value) {
    return out << value.to_double();
  }

 private:
  static constexpr int kBias = (1 << (E - 1)) - 1;
  static constexpr std::uint64_t kFractionMask = (std::uint64_t(1) << (W - E - 1)) - 1;
  static constexpr std::uint64_t kExponentMask = (std::uint64_t(1) << E) - 1;
  static constexpr std::uint64_t kSign = std::uint64_t(1) << (W - 1);

  static ap_float of_double(double value, double rest = 0.0) {
    ap_float result;
    result.bits_ = encoded(value, rest);
    return result;
  }
  // A 64-bit integer may not fit a double: its low part is the rest.
  template <typename T>
  static std::uint64_t encoded_integer(T value) {
    const double high = static_cast<double>(value);
    return encoded(high,
                   static_cast<double>(static_cast<__int128>(value) - static_cast<__int128>(high)));
  }

  // The nearest number to value + rest, where rest is less than half of value's last bit.
  static std::uint64_t encoded(double value, double rest = 0.0) {
    const std::uint64_t sign = std::signbit(value) ? kSign : 0;
    if (std::isnan(value)) return (kExponentMask << fraction_width) | (kFractionMask / 2 + 1);
    if (std::isinf(value)) return sign | (kExponentMask << fraction_width);
    if (value == 0.0) return sign;
    if (sign != 0) rest = -rest;
    int exponent = 0;
    const double unit = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
    const double scaled = std::ldexp(unit, fraction_width + 1);
    double whole = std::floor(scaled);
    const double part = scaled - whole;
    const bool odd = std::fmod(whole, 2.0) != 0.0;
    if (part > 0.5 || (part == 0.5 && (rest > 0 || (rest == 0 && odd)))) whole += 1.0;
    int biased = exponent - 1 + kBias;
    std::uint64_t significand = static_cast<std::uint64_t>(whole);
    if (significand == (kFractionMask + 1) * 2) {
      significand /= 2;
      ++biased;
    }
    if (biased <= 0) return sign;
    if (biased >= static_cast<int>(kExponentMask)) return sign | (kExponentMask << fraction_width);
    return sign | (static_cast<std::uint64_t>(biased) << fraction_width) |
           (significand & kFractionMask);
  }

  std::uint64_t bits_;
};

template <int W, int E>
constexpr int ap_float<W, E>::width;
template <int W, int E>
constexpr int ap_float<W, E>::exponent_width;
template <int W, int E>
constexpr int ap_float<W, E>::fraction_width;

// Sums numbers T in a fixed-point number A. The call with `last` gives the sum and begins a new
// one.
template <typename T, typename A>
class ap_float_acc {
 public:
  ap_float_acc() : sum_(0) {}
  T accumulate(const T& value, bool last) {
    sum_ += A(value.to_double());
    const T result(sum_.to_double());
    if (last) sum_ = 0;
    return result;
  }

 private:
  A sum_;
};

#include "tandem_macros_end.h"
