// SPDX-License-Identifier: Apache-2.0
//
// half for software emulation: an IEEE 754 binary16 number.
//
// Trivially constructible and two bytes, so it may stand in unions and arrays. Arithmetic is done
// in float and rounded once to nearest even, which is the correctly rounded result for + - * / (a
// float has more than twice the digits). Conversions are plain integer and float code without
// branches that block vectorisation; subnormals, infinities and NaN (made quiet) are kept. Source:
// IEEE 754-2019, Vitis HLS user guide (UG1399), "Half-Precision Floating-Point Data Types". C++14.
#pragma once

#include <cstdint>
#include <cstring>
#include <ostream>
#include <type_traits>

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
  operator float() const { return hls::detail::half_bits_to_float(bits_); }

  half& operator+=(half other) { return *this = half(float(*this) + float(other)); }
  half& operator-=(half other) { return *this = half(float(*this) - float(other)); }
  half& operator*=(half other) { return *this = half(float(*this) * float(other)); }
  half& operator/=(half other) { return *this = half(float(*this) / float(other)); }
  half operator-() const {
    half result;
    result.bits_ = static_cast<std::uint16_t>(bits_ ^ 0x8000u);
    return result;
  }
  half operator+() const { return *this; }
  half& operator++() { return *this += half(1.0f); }
  half& operator--() { return *this -= half(1.0f); }

  friend std::ostream& operator<<(std::ostream& out, half value) { return out << float(value); }

 private:
  // A double goes to float by rounding to odd, so that the second rounding sees what the first cut.
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

// half with half gives half; half with a native number what float with that number gives.
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
