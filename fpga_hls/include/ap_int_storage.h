// SPDX-License-Identifier: Apache-2.0
//
// Memory layout of an integer of W bits, and its conversions from and to floating-point numbers.
//
// The storage is the smallest native integer for W <= 64, else 64-bit words, lowest first. So a
// kernel's ap_uint<8>* or ap_uint<512>* reads memory as the hardware's port does. Every store
// extends the value to its storage. low64() and low128() are the value modulo 2^64 and 2^128;
// limb(i) is a 64-bit piece of the infinitely extended value. C++11.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "ap_int_limbs.h"

#include "tandem_macros_begin.h"

namespace ap_detail {

template <int W, bool S>
struct Native {
  typedef typename std::conditional<
      W <= 8, signed char,
      typename std::conditional<
          W <= 16, short, typename std::conditional<W <= 32, int, long>::type>::type>::type Signed;
  typedef
      typename std::conditional<S, Signed, typename std::make_unsigned<Signed>::type>::type type;
};

// Numbers are computed in 64-bit integers, in 128-bit integers, or in limbs.
enum Kind { kWord = 0, kPair = 1, kWide = 2 };
constexpr Kind kind_of(int bits) { return bits <= 64 ? kWord : (bits <= 128 ? kPair : kWide); }

template <Kind K>
struct KindTag {};

template <int W, bool S, Kind = kind_of(W)>
class Storage {
 public:
  Limb low64() const { return static_cast<Limb>(static_cast<std::int64_t>(bits_)); }
  Uint128 low128() const { return static_cast<Uint128>(static_cast<Int128>(bits_)); }
  Limb limb(int i) const { return i == 0 ? low64() : (S && bits_ < Bits(0) ? ~Limb(0) : 0); }
  void set64(Limb value) { bits_ = static_cast<Bits>(cut(value, W, S)); }
  // `fill`: the limbs above the 128 bits.
  void set128(Uint128 value, Limb fill) {
    static_cast<void>(fill);
    set64(static_cast<Limb>(value));
  }
  void set_limbs(const Limb* limbs) { set64(limbs[0]); }
  // Copies the lowest n limbs of the number.
  void copy(Limb* to, int n) const {
    static_cast<void>(n);
    to[0] = low64();
  }

 private:
  typedef typename Native<W, S>::type Bits;
  Bits bits_;
};

template <int W, bool S>
class Storage<W, S, kPair> {
 public:
  Limb low64() const { return limbs_[0]; }
  Uint128 low128() const { return (static_cast<Uint128>(limbs_[1]) << 64) | limbs_[0]; }
  Limb limb(int i) const { return i < 2 ? limbs_[i] : fill(); }
  void set128(Uint128 value, Limb fill) {
    static_cast<void>(fill);
    limbs_[0] = static_cast<Limb>(value);
    limbs_[1] = cut(static_cast<Limb>(value >> 64), W - 64, S);
  }
  void set_limbs(const Limb* limbs) {
    set128((static_cast<Uint128>(limbs[1]) << 64) | limbs[0], 0);
  }
  void copy(Limb* to, int n) const { std::memcpy(to, limbs_, sizeof(Limb) * n); }

 private:
  Limb fill() const { return S && (limbs_[1] >> 63) != 0 ? ~Limb(0) : 0; }
  Limb limbs_[2];
};

template <int W, bool S>
class Storage<W, S, kWide> {
 public:
  static constexpr int kLimbs = limb_count(W);

  Limb low64() const { return limbs_[0]; }
  Uint128 low128() const { return (static_cast<Uint128>(limbs_[1]) << 64) | limbs_[0]; }
  Limb limb(int i) const { return i < kLimbs ? limbs_[i] : fill(); }
  void set128(Uint128 value, Limb fill) {
    limbs_[0] = static_cast<Limb>(value);
    limbs_[1] = static_cast<Limb>(value >> 64);
    for (int i = 2; i < kLimbs; ++i) limbs_[i] = fill;
    cut_top();
  }
  void set_limbs(const Limb* limbs) {
    std::memcpy(limbs_, limbs, sizeof(limbs_));
    cut_top();
  }
  void copy(Limb* to, int n) const { std::memcpy(to, limbs_, sizeof(Limb) * n); }
  Limb* limbs() { return limbs_; }
  const Limb* limbs() const { return limbs_; }
  void cut_top() {
    if (W % 64 != 0) limbs_[kLimbs - 1] = cut(limbs_[kLimbs - 1], (W - 1) % 64 + 1, S);
  }

 private:
  Limb fill() const { return S && (limbs_[kLimbs - 1] >> 63) != 0 ? ~Limb(0) : 0; }
  Limb limbs_[kLimbs];
};

// sign * digits * 2^exponent, exactly `value`; NaN and infinity count as 0.
struct Dissected {
  template <typename Real>
  explicit Dissected(Real value) : digits(0), exponent(0), negative(value < 0) {
    if (!(value - value == 0)) return;
    constexpr int kDigits = std::numeric_limits<Real>::digits;
    const Real fraction = std::frexp(negative ? -value : value, &exponent);
    digits = static_cast<Limb>(std::ldexp(fraction, kDigits));
    exponent -= kDigits;
  }
  Limb digits;
  int exponent;
  bool negative;
};

// The number in n limbs, cut towards zero and modulo 2^(64 n).
inline void limbs_of(double value, int n, Limb* limbs) {
  const Dissected parts(value);
  for (int i = 0; i < n; ++i) limbs[i] = 0;
  if (parts.exponent <= 0) {
    limbs[0] = parts.exponent > -64 ? parts.digits >> -parts.exponent : 0;
  } else if (parts.exponent < 64 * n) {
    limbs[0] = parts.digits;
    shift_left(limbs, parts.exponent, n, limbs);
  }
  if (parts.negative) negate(limbs, n);
}

// The two's complement number in n limbs, rounded once, to nearest even; the limbs are overwritten.
template <typename Real>
Real real_of(Limb* limbs, int n) {
  const bool negative = bit(limbs, 64 * n - 1);
  if (negative) negate(limbs, n);
  int top = 64 * n - 1;
  while (top >= 64 && !bit(limbs, top)) --top;
  if (top < 64) {
    const Real small = static_cast<Real>(limbs[0]);
    return negative ? -small : small;
  }
  // Of the bits below the leading 64, rounding needs only whether all are zero.
  const int below = top - 63;
  bool rest = (limbs[below / 64] & ((Limb(1) << (below % 64)) - 1)) != 0;
  for (int i = 0; i < below / 64; ++i) rest = rest || limbs[i] != 0;
  const Limb leading = extract(limbs, below, 64, n) | (rest ? 1 : 0);
  const Real value = std::ldexp(static_cast<Real>(leading), below);
  return negative ? -value : value;
}

}  // namespace ap_detail

#include "tandem_macros_end.h"
