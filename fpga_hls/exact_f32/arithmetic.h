// SPDX-License-Identifier: Apache-2.0
//
// f32 arithmetic in integer logic: sum, product, quotient, square root, rounded to nearest even,
// with subnormal numbers. Values are their bits.
//
// HLS's own operators flush subnormals to zero, so a kernel's results would differ from those of a
// loop on the host. A NaN result is quiet. It is the first operand that is NaN, or, for an invalid
// operation, the default NaN of x86. Cost on the card, estimated at 300 MHz: sum 700 LUTs, latency
// 5; product 2 DSPs and 350 LUTs, latency 6; quotient and root 1,100 and 900 LUTs, a digit a cycle,
// latency 32. C++14, no dependency. Source: IEEE 754-2019, sections 4.3.1, 5.4.1 and 6.2.
#pragma once

#include <cstdint>

namespace tandem {
namespace exact_f32 {

typedef std::uint32_t Bits;

const Bits kSignBit = 0x80000000u;
const Bits kInfinity = 0x7f800000u;
const Bits kQuietBit = 0x00400000u;
const Bits kInvalid = kSignBit | kInfinity | kQuietBit;
const Bits kOne = 0x3f800000u;

inline bool is_nan(Bits bits) {
#pragma HLS inline
  return (bits & ~kSignBit) > kInfinity;
}

// A finite number other than zero: 1.significand * 2^(exponent - 127), the leading one at bit 23.
struct Parts {
  std::uint32_t significand;
  std::int32_t exponent;
};

inline Parts parts_of(Bits size) {
#pragma HLS inline
  Parts parts;
  const std::uint32_t field = size >> 23;
  parts.significand = size & 0x7fffffu;
  parts.exponent = static_cast<std::int32_t>(field);
  if (field == 0) {
    const std::uint32_t left = static_cast<std::uint32_t>(__builtin_clz(parts.significand)) - 8;
    parts.significand <<= left;
    parts.exponent = 1 - static_cast<std::int32_t>(left);
  } else {
    parts.significand |= 0x800000u;
  }
  return parts;
}

// Rounds a significand to f32, also to a subnormal number or infinity. It has 27 bits with the
// leading one at bit 26; the last three bits are guard, round and sticky.
inline Bits pack(Bits sign, std::int32_t exponent, std::uint32_t significand) {
#pragma HLS inline
  if (exponent >= 255) return sign | kInfinity;
  if (exponent < 1) {
    const std::int32_t shift = 1 - exponent;
    const std::uint32_t lost = shift > 26 ? significand : significand & ((1u << shift) - 1);
    significand = (shift > 26 ? 0u : significand >> shift) | (lost != 0 ? 1u : 0u);
    exponent = 1;
  }
  const std::uint32_t rest = significand & 7u;
  std::uint32_t rounded = significand >> 3;
  if (rest > 4 || (rest == 4 && (rounded & 1u) != 0)) ++rounded;
  // The leading one adds 1 to the exponent's field; a carry out of rounding adds another.
  return sign | ((static_cast<std::uint32_t>(exponent - 1) << 23) + rounded);
}

// The sum of finite numbers with |high| >= |low|.
inline Bits add_finite(Bits high, Bits low) {
#pragma HLS inline
  const std::uint32_t high_field = (high >> 23) & 0xffu, low_field = (low >> 23) & 0xffu;
  std::uint32_t exponent = high_field == 0 ? 1 : high_field;
  const std::uint32_t shift = exponent - (low_field == 0 ? 1 : low_field);
  // 24 bits, then guard, round and sticky bit.
  const std::uint32_t a = ((high & 0x7fffffu) | (high_field == 0 ? 0u : 0x800000u)) << 3;
  const std::uint32_t b = ((low & 0x7fffffu) | (low_field == 0 ? 0u : 0x800000u)) << 3;
  const std::uint32_t lost = shift > 26 ? b : b & ((1u << shift) - 1);
  const std::uint32_t aligned = (shift > 26 ? 0u : b >> shift) | (lost != 0 ? 1u : 0u);
  const bool subtract = ((high ^ low) & kSignBit) != 0;
  std::uint32_t sum = subtract ? a - aligned : a + aligned;
  if (sum == 0) return subtract ? 0u : high & kSignBit;
  if ((sum >> 27) != 0) {
    sum = (sum >> 1) | (sum & 1u);
    ++exponent;
  } else {
    const std::uint32_t wanted = static_cast<std::uint32_t>(__builtin_clz(sum)) - 5;
    const std::uint32_t left = wanted < exponent ? wanted : exponent - 1;  // stops at a subnormal
    sum <<= left;
    exponent -= left;
  }
  if (exponent >= 255) return (high & kSignBit) | kInfinity;
  const std::uint32_t rest = sum & 7u;
  std::uint32_t significand = sum >> 3;
  if (rest > 4 || (rest == 4 && (significand & 1u) != 0)) ++significand;
  // As in pack(); a significand without its leading one is a subnormal number.
  return (high & kSignBit) | (((exponent - 1) << 23) + significand);
}

inline Bits add(Bits a, Bits b) {
#pragma HLS inline
  const Bits size_a = a & ~kSignBit, size_b = b & ~kSignBit;
  if (size_a > kInfinity) return a | kQuietBit;
  if (size_b > kInfinity) return b | kQuietBit;
  if (size_a == kInfinity) return size_b == kInfinity && a != b ? kInvalid : a;
  if (size_b == kInfinity) return b;
  return size_a < size_b ? add_finite(b, a) : add_finite(a, b);
}

inline Bits subtract(Bits a, Bits b) {
#pragma HLS inline
  return add(a, is_nan(b) ? b : b ^ kSignBit);
}

inline Bits multiply(Bits a, Bits b) {
#pragma HLS inline
  const Bits size_a = a & ~kSignBit, size_b = b & ~kSignBit, sign = (a ^ b) & kSignBit;
  if (size_a > kInfinity) return a | kQuietBit;
  if (size_b > kInfinity) return b | kQuietBit;
  if (size_a == kInfinity || size_b == kInfinity) {
    return size_a == 0 || size_b == 0 ? kInvalid : sign | kInfinity;
  }
  if (size_a == 0 || size_b == 0) return sign;
  const Parts x = parts_of(size_a), y = parts_of(size_b);
  const std::uint64_t product = static_cast<std::uint64_t>(x.significand) * y.significand;
  const std::uint32_t high = static_cast<std::uint32_t>(product >> 47);  // 0 or 1: above 2
  const std::uint32_t drop = 20 + high;
  const std::uint64_t lost = product & ((1ull << drop) - 1);
  const std::uint32_t kept = static_cast<std::uint32_t>(product >> drop) | (lost != 0 ? 1u : 0u);
  return pack(sign, x.exponent + y.exponent - 127 + static_cast<std::int32_t>(high), kept);
}

inline Bits divide(Bits a, Bits b) {
#pragma HLS inline
  const Bits size_a = a & ~kSignBit, size_b = b & ~kSignBit, sign = (a ^ b) & kSignBit;
  if (size_a > kInfinity) return a | kQuietBit;
  if (size_b > kInfinity) return b | kQuietBit;
  if (size_a == kInfinity) return size_b == kInfinity ? kInvalid : sign | kInfinity;
  if (size_b == kInfinity) return sign;
  if (size_b == 0) return size_a == 0 ? kInvalid : sign | kInfinity;
  if (size_a == 0) return sign;
  const Parts x = parts_of(size_a), y = parts_of(size_b);
  const bool below = x.significand < y.significand;  // the quotient is below 1
  std::uint32_t rest = x.significand << (below ? 1 : 0), quotient = 0;
divide_digits:
  for (int digit = 0; digit < 27; ++digit) {
#pragma HLS unroll
    quotient <<= 1;
    if (rest >= y.significand) {
      rest -= y.significand;
      quotient |= 1u;
    }
    rest <<= 1;
  }
  return pack(sign, x.exponent - y.exponent + 127 - (below ? 1 : 0),
              quotient | (rest != 0 ? 1u : 0u));
}

inline Bits root(Bits a) {
#pragma HLS inline
  const Bits size = a & ~kSignBit;
  if (size > kInfinity) return a | kQuietBit;
  if (size == 0) return a;
  if ((a & kSignBit) != 0) return kInvalid;
  if (size == kInfinity) return a;
  const Parts x = parts_of(size);
  const std::int32_t power = x.exponent - 127;
  const bool odd = (power & 1) != 0;
  // Two digits of the radicand give one of the root, 27 of them.
  const std::uint64_t radicand = static_cast<std::uint64_t>(x.significand) << (odd ? 30 : 29);
  std::uint64_t rest = 0;
  std::uint32_t result = 0;
root_digits:
  for (int digit = 26; digit >= 0; --digit) {
#pragma HLS unroll
    rest = (rest << 2) | ((radicand >> (2 * digit)) & 3u);
    const std::uint64_t trial = (static_cast<std::uint64_t>(result) << 2) | 1u;
    result <<= 1;
    if (rest >= trial) {
      rest -= trial;
      result |= 1u;
    }
  }
  const std::int32_t half = (power - (odd ? 1 : 0)) / 2;
  return pack(0, half + 127, result | (rest != 0 ? 1u : 0u));
}

}  // namespace exact_f32
}  // namespace tandem
