// SPDX-License-Identifier: Apache-2.0
//
// half for software emulation: an IEEE 754 binary16 number.
//
// The type is trivially constructible and has two bytes, so unions and arrays may hold it.
// Arithmetic runs in float and rounds once to nearest even. For + - * / that is the correctly
// rounded result, because a float has more than twice the digits. Conversions are integer and float
// code without branches, so they vectorise. They keep subnormals, infinities and NaN (made quiet).
// Source: IEEE 754-2019, Vitis HLS user guide (UG1399), "Half-Precision Floating-Point Data Types".
// C++11.
#pragma once

#include <cstdint>
#include <cstring>
#include <istream>
#include <limits>
#include <ostream>
#include <type_traits>

#include "ap_number.h"

#include "tandem_macros_begin.h"

namespace hls {
namespace detail {

inline float half_bits_to_float(std::uint16_t bits) {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fffu) << 13;
  // In place the exponent is 112 too small; the multiplication also normalises subnormals.
  float shifted;
  std::memcpy(&shifted, &magnitude, sizeof(shifted));
  shifted *= 5192296858534827628530496329220096.0f;  // 2^112
  std::uint32_t result;
  std::memcpy(&result, &shifted, sizeof(result));
  result |= magnitude >= 0x0f800000u ? 0x7f800000u : 0u;  // infinity, NaN
  result |= static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  float value;
  std::memcpy(&value, &result, sizeof(value));
  return value;
}

inline std::uint16_t float_to_half_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Below 2^-14 the result is subnormal: adding 0.5 leaves units of 2^-24 at the end of the digits,
  // rounded by the adder.
  float small;
  std::memcpy(&small, &magnitude, sizeof(small));
  small += 0.5f;
  std::uint32_t small_bits;
  std::memcpy(&small_bits, &small, sizeof(small_bits));
  const std::uint32_t subnormal = small_bits - 0x3f000000u;
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const std::uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const std::uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  return static_cast<std::uint16_t>(sign | (magnitude >= 0x477ff000u ? special : finite));
}

}  // namespace detail
}  // namespace hls

class half {
 public:
  half() = default;
  half(float value) : bits_(hls::detail::float_to_half_bits(value)) {}
  half(double value) : half(from_double(value)) {}
  half(int value) : half(static_cast<double>(value)) {}
  half(unsigned value) : half(static_cast<double>(value)) {}
  half(long value) : half(static_cast<double>(value)) {}
  half(unsigned long value) : half(static_cast<double>(value)) {}
  half(long long value) : half(static_cast<double>(value)) {}
  half(unsigned long long value) : half(static_cast<double>(value)) {}
  half(long double value) : half(static_cast<double>(value)) {}
  template <typename D>
  half(const ap_detail::Number<D>& value) : half(value.self().value().to_double()) {}
  template <typename D>
  half(const ap_detail::FixedNumber<D>& value) : half(value.self().to_double()) {}
  operator float() const { return hls::detail::half_bits_to_float(bits_); }

  half& operator+=(half other) { return *this = half(float(*this) + float(other)); }
  half& operator-=(half other) { return *this = half(float(*this) - float(other)); }
  half& operator*=(half other) { return *this = half(float(*this) * float(other)); }
  half& operator/=(half other) { return *this = half(float(*this) / float(other)); }
  // A float operand is not rounded to half before the operation.
  half& operator+=(float other) { return *this = half(float(*this) + other); }
  half& operator-=(float other) { return *this = half(float(*this) - other); }
  half& operator*=(float other) { return *this = half(float(*this) * other); }
  half& operator/=(float other) { return *this = half(float(*this) / other); }
  half operator-() const {
    half result;
    result.bits_ = static_cast<std::uint16_t>(bits_ ^ 0x8000u);
    return result;
  }
  half operator+() const { return *this; }
  half& operator++() { return *this += half(1.0f); }
  half& operator--() { return *this -= half(1.0f); }
  half operator++(int) {
    const half before = *this;
    ++*this;
    return before;
  }
  half operator--(int) {
    const half before = *this;
    --*this;
    return before;
  }

  std::uint16_t get_bits() const { return bits_; }
  void set_bits(std::uint16_t bits) { bits_ = bits; }
  static half from_bits(std::uint16_t bits) {
    half result;
    result.bits_ = bits;
    return result;
  }

  friend std::ostream& operator<<(std::ostream& out, half value) { return out << float(value); }
  friend std::istream& operator>>(std::istream& in, half& value) {
    float read = 0;
    if (in >> read) value = half(read);
    return in;
  }

 private:
  // Converts a double to float by rounding to odd. The second rounding, to half, is then correct.
  static float from_double(double value) {
    float nearest = static_cast<float>(value);
    if (static_cast<double>(nearest) == value || !(value - value == 0.0)) return nearest;
    std::uint32_t bits;
    std::memcpy(&bits, &nearest, sizeof(bits));
    if ((bits & 1u) != 0) return nearest;
    const bool away =
        value < 0 ? static_cast<double>(nearest) < value : static_cast<double>(nearest) > value;
    bits = away ? bits - 1 : bits + 1;
    std::memcpy(&nearest, &bits, sizeof(nearest));
    return nearest;
  }

  std::uint16_t bits_;
};

namespace hls {
namespace detail {

// An operation of two halfs gives a half. An operation of a half and a native number gives the type
// that float and this number give.
template <typename A, typename B>
struct HalfResult {
  static constexpr bool kEnabled = false;
};
template <>
struct HalfResult<half, half> {
  static constexpr bool kEnabled = true;
  typedef half type;
};
template <typename B>
struct HalfResult<half, B> {
  static constexpr bool kEnabled = std::is_arithmetic<B>::value;
  typedef decltype(float() + B()) type;
};
template <typename A>
struct HalfResult<A, half> {
  static constexpr bool kEnabled = std::is_arithmetic<A>::value;
  typedef decltype(A() + float()) type;
};

inline float half_operand(half value) { return static_cast<float>(value); }
template <typename T>
T half_operand(T value) {
  return value;
}

template <typename A, typename B>
using HalfEnabled = typename std::enable_if<HalfResult<A, B>::kEnabled, int>::type;

}  // namespace detail
}  // namespace hls

template <typename A, typename B, hls::detail::HalfEnabled<A, B> = 0>
typename hls::detail::HalfResult<A, B>::type operator+(A a, B b) {
  return hls::detail::half_operand(a) + hls::detail::half_operand(b);
}
template <typename A, typename B, hls::detail::HalfEnabled<A, B> = 0>
typename hls::detail::HalfResult<A, B>::type operator-(A a, B b) {
  return hls::detail::half_operand(a) - hls::detail::half_operand(b);
}
template <typename A, typename B, hls::detail::HalfEnabled<A, B> = 0>
typename hls::detail::HalfResult<A, B>::type operator*(A a, B b) {
  return hls::detail::half_operand(a) * hls::detail::half_operand(b);
}
template <typename A, typename B, hls::detail::HalfEnabled<A, B> = 0>
typename hls::detail::HalfResult<A, B>::type operator/(A a, B b) {
  return hls::detail::half_operand(a) / hls::detail::half_operand(b);
}
template <typename A, typename B, hls::detail::HalfEnabled<A, B> = 0>
bool operator==(A a, B b) {
  return hls::detail::half_operand(a) == hls::detail::half_operand(b);
}
template <typename A, typename B, hls::detail::HalfEnabled<A, B> = 0>
bool operator!=(A a, B b) {
  return hls::detail::half_operand(a) != hls::detail::half_operand(b);
}
template <typename A, typename B, hls::detail::HalfEnabled<A, B> = 0>
bool operator<(A a, B b) {
  return hls::detail::half_operand(a) < hls::detail::half_operand(b);
}
template <typename A, typename B, hls::detail::HalfEnabled<A, B> = 0>
bool operator>(A a, B b) {
  return hls::detail::half_operand(a) > hls::detail::half_operand(b);
}
template <typename A, typename B, hls::detail::HalfEnabled<A, B> = 0>
bool operator<=(A a, B b) {
  return hls::detail::half_operand(a) <= hls::detail::half_operand(b);
}
template <typename A, typename B, hls::detail::HalfEnabled<A, B> = 0>
bool operator>=(A a, B b) {
  return hls::detail::half_operand(a) >= hls::detail::half_operand(b);
}

// 1.5_h
inline half operator""_h(long double value) { return half(value); }
inline half operator""_h(unsigned long long value) { return half(value); }

namespace std {

template <>
class numeric_limits<half> : public numeric_limits<float> {
 public:
  static constexpr int digits = 11;
  static constexpr int digits10 = 3;
  static constexpr int max_digits10 = 5;
  static constexpr int min_exponent = -13;
  static constexpr int min_exponent10 = -4;
  static constexpr int max_exponent = 16;
  static constexpr int max_exponent10 = 4;
  static half min() { return half::from_bits(0x0400); }
  static half max() { return half::from_bits(0x7bff); }
  static half lowest() { return half::from_bits(0xfbff); }
  static half epsilon() { return half::from_bits(0x1400); }
  static half round_error() { return half::from_bits(0x3800); }
  static half infinity() { return half::from_bits(0x7c00); }
  static half quiet_NaN() { return half::from_bits(0x7e00); }
  static half signaling_NaN() { return half::from_bits(0x7d00); }
  static half denorm_min() { return half::from_bits(0x0001); }
};

}  // namespace std

#include "tandem_macros_end.h"
