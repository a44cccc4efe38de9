// SPDX-License-Identifier: Apache-2.0
//
// ap_int_base<W, S>: a two's complement integer of W bits; and references to its bits and ranges.
//
// What ap_int and ap_uint share; operators between numbers are in ap_int.h. Values are kept cut to
// W bits after every assignment (overflow wraps). Storage is the smallest native integer for W <=
// 64 and whole 64-bit words above, lowest first, so that a kernel's ap_uint<8>* or ap_uint<512>*
// reads memory as the hardware's port does. Default construction leaves the value undefined, as HLS
// says. Errors: std::domain_error for division by zero, std::invalid_argument for text that is no
// number. Source: Vitis HLS user guide (UG1399), "Arbitrary Precision Integer Types". C++14.
#pragma once

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "ap_int_limbs.h"

template <int W, bool S>
class ap_int_base;
template <int W, bool S>
class ap_bit_ref;
template <int W, bool S>
class ap_range_ref;

namespace ap_detail {

template <int W, bool S>
struct Native {
  typedef typename std::conditional<
      W <= 8, std::int8_t,
      typename std::conditional<
          W <= 16, std::int16_t,
          typename std::conditional<W <= 32, std::int32_t, std::int64_t>::type>::type>::type Signed;
  typedef
      typename std::conditional<S, Signed, typename std::make_unsigned<Signed>::type>::type type;
};
template <>
struct Native<1, false> {
  typedef bool type;
};

// Up to 64 bits: one native integer.
template <int W, bool S, bool Narrow = (W <= 64)>
class Storage {
 public:
  typedef typename std::conditional<
      W <= 8, std::uint8_t,
      typename std::conditional<
          W <= 16, std::uint16_t,
          typename std::conditional<W <= 32, std::uint32_t, std::uint64_t>::type>::type>::type Bits;

  // Limb `i` of the value extended without end.
  Limb limb(int i) const {
    const Limb value = cut(bits_, W, S);
    return i == 0 ? value : fill(value);
  }
  void store(const Limb* limbs) { bits_ = static_cast<Bits>(cut(limbs[0], W, S)); }

 private:
  static Limb fill(Limb value) { return S && (value >> 63) != 0 ? ~Limb(0) : 0; }
  Bits bits_;
};

template <int W, bool S>
class Storage<W, S, false> {
 public:
  static constexpr int kLimbs = limb_count(W);

  Limb limb(int i) const {
    if (i < kLimbs) return limbs_[i];
    return S && (limbs_[kLimbs - 1] >> 63) != 0 ? ~Limb(0) : 0;
  }
  void store(const Limb* limbs) {
    for (int i = 0; i < kLimbs; ++i) limbs_[i] = limbs[i];
    if (W % 64 != 0) limbs_[kLimbs - 1] = cut(limbs_[kLimbs - 1], W % 64, S);
  }

 private:
  Limb limbs_[kLimbs];
};

inline int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

// Reads "-0x1F", "0b101", "0o17", "42", or digits of `radix`; the value modulo 2^(64 n).
inline void parse(const char* text, int radix, int n, Limb* value) {
  for (int i = 0; i < n; ++i) value[i] = 0;
  const bool negative = *text == '-';
  if (*text == '-' || *text == '+') ++text;
  if (text[0] == '0' && text[1] != '\0') {
    const char kind = text[1] | 0x20;
    const int named = kind == 'x' ? 16 : (kind == 'o' ? 8 : (kind == 'b' && radix != 16 ? 2 : 0));
    if (named != 0) {
      radix = named;
      text += 2;
    }
  }
  if (*text == '\0') throw std::invalid_argument("ap_int: no digits");
  for (; *text != '\0'; ++text) {
    if (*text == '_') continue;
    const int digit = digit_of(*text);
    if (digit >= radix) {
      throw std::invalid_argument(std::string("ap_int: '") + *text + "' is no digit");
    }
    multiply_small(value, static_cast<std::uint32_t>(radix), static_cast<std::uint32_t>(digit), n);
  }
  if (negative) negate(value, n);
}

}  // namespace ap_detail

template <int W, bool S>
class ap_int_base {
  static_assert(W >= 1 && W <= 4096, "ap_int: widths are 1 to 4096 bits");

 public:
  static constexpr int width = W;
  static constexpr bool is_signed = S;
  static constexpr int kLimbs = ap_detail::limb_count(W);
  typedef ap_detail::Limb Limb;
  typedef typename ap_detail::Native<(W < 64 ? W : 64), S>::type RetType;

  ap_int_base() = default;
  template <int W2, bool S2>
  ap_int_base(const ap_int_base<W2, S2>& other) {
    assign_limbs([&](int i) { return other.limb(i); });
  }
  template <typename T, typename std::enable_if<
                            std::is_integral<T>::value || std::is_enum<T>::value, int>::type = 0>
  ap_int_base(T value) {
    const Limb low = static_cast<Limb>(value);
    const Limb high = value < T(0) ? ~Limb(0) : 0;
    assign_limbs([&](int i) { return i == 0 ? low : high; });
  }
  ap_int_base(double value) { assign_double(value); }
  ap_int_base(float value) { assign_double(value); }
  ap_int_base(const char* text) : ap_int_base(text, 10) {}
  ap_int_base(const char* text, signed char radix) {
    Limb limbs[kLimbs];
    ap_detail::parse(text, radix, kLimbs, limbs);
    bits_.store(limbs);
  }
  template <int W2, bool S2>
  ap_int_base(const ap_bit_ref<W2, S2>& bit) : ap_int_base(static_cast<bool>(bit)) {}
  // Ranges and concatenations: whatever has a Value to get().
  template <typename Ref, typename Value = typename Ref::Value>
  ap_int_base(const Ref& ref) : ap_int_base(static_cast<const Value&>(ref.get())) {}

  // Limbs of the value extended without end; and back, cut to W bits.
  Limb limb(int i) const { return bits_.limb(i); }
  static ap_int_base from_limbs(const Limb* limbs) {
    ap_int_base result;
    result.bits_.store(limbs);
    return result;
  }
  void limbs(Limb* to, int n) const {
    for (int i = 0; i < n; ++i) to[i] = bits_.limb(i);
  }

  operator RetType() const { return static_cast<RetType>(bits_.limb(0)); }
  int to_int() const { return static_cast<int>(bits_.limb(0)); }
  unsigned to_uint() const { return static_cast<unsigned>(bits_.limb(0)); }
  long to_long() const { return static_cast<long>(bits_.limb(0)); }
  unsigned long to_ulong() const { return static_cast<unsigned long>(bits_.limb(0)); }
  long long to_int64() const { return static_cast<long long>(bits_.limb(0)); }
  unsigned long long to_uint64() const { return bits_.limb(0); }
  signed char to_char() const { return static_cast<signed char>(bits_.limb(0)); }
  unsigned char to_uchar() const { return static_cast<unsigned char>(bits_.limb(0)); }
  short to_short() const { return static_cast<short>(bits_.limb(0)); }
  unsigned short to_ushort() const { return static_cast<unsigned short>(bits_.limb(0)); }
  bool to_bool() const { return !is_zero(); }
  float to_float() const { return static_cast<float>(to_double()); }
  double to_double() const;
  std::string to_string(int radix = 2, bool as_signed = S) const;

  int length() const { return W; }
  bool sign() const { return S && test(W - 1); }
  bool is_zero() const {
    Limb any = 0;
    for (int i = 0; i < kLimbs; ++i) any |= bits_.limb(i);
    return any == 0;
  }

  bool test(int at) const { return ((bits_.limb(at / 64) >> (at % 64)) & 1) != 0; }
  bool get_bit(int at) const { return test(at); }
  void set_bit(int at, bool value) {
    Limb limbs[kLimbs];
    this->limbs(limbs, kLimbs);
    ap_detail::set_bit(limbs, at, value);
    bits_.store(limbs);
  }
  void set(int at) { set_bit(at, true); }
  void set() { *this = ~ap_int_base(0); }
  void clear(int at) { set_bit(at, false); }
  void clear() { *this = ap_int_base(0); }
  void invert(int at) { set_bit(at, !test(at)); }

  ap_bit_ref<W, S> operator[](int at) { return ap_bit_ref<W, S>(*this, at); }
  bool operator[](int at) const { return test(at); }
  ap_bit_ref<W, S> bit(int at) { return ap_bit_ref<W, S>(*this, at); }
  bool bit(int at) const { return test(at); }
  ap_range_ref<W, S> range(int high, int low) { return ap_range_ref<W, S>(*this, high, low); }
  ap_range_ref<W, S> range(int high, int low) const {
    return ap_range_ref<W, S>(const_cast<ap_int_base&>(*this), high, low);
  }
  ap_range_ref<W, S> range() { return range(W - 1, 0); }
  ap_range_ref<W, S> range() const { return range(W - 1, 0); }
  ap_range_ref<W, S> operator()(int high, int low) { return range(high, low); }
  ap_range_ref<W, S> operator()(int high, int low) const { return range(high, low); }

  // This number's bits above those of `low`.
  template <int W2, bool S2>
  ap_int_base<W + W2, false> concat(const ap_int_base<W2, S2>& low) const;

  bool or_reduce() const { return !is_zero(); }
  bool nor_reduce() const { return is_zero(); }
  bool and_reduce() const {
    for (int i = 0; i < W; ++i) {
      if (!test(i)) return false;
    }
    return true;
  }
  bool nand_reduce() const { return !and_reduce(); }
  bool xor_reduce() const {
    bool odd = false;
    for (int i = 0; i < W; ++i) odd = odd != test(i);
    return odd;
  }
  bool xnor_reduce() const { return !xor_reduce(); }

  ap_int_base& reverse() {
    ap_int_base result(0);
    for (int i = 0; i < W; ++i) result.set_bit(W - 1 - i, test(i));
    return *this = result;
  }
  ap_int_base& lrotate(int by) {
    by = ((by % W) + W) % W;
    ap_int_base result(0);
    for (int i = 0; i < W; ++i) result.set_bit((i + by) % W, test(i));
    return *this = result;
  }
  ap_int_base& rrotate(int by) { return lrotate(W - ((by % W) + W) % W); }
  void b_not() { *this = ~*this; }
  int countLeadingZeros() const {
    int count = 0;
    while (count < W && !test(W - 1 - count)) ++count;
    return count;
  }

  ap_int_base operator~() const {
    Limb limbs[kLimbs];
    for (int i = 0; i < kLimbs; ++i) limbs[i] = ~bits_.limb(i);
    return from_limbs(limbs);
  }
  bool operator!() const { return is_zero(); }
  ap_int_base operator+() const { return *this; }
  ap_int_base<W + 1, true> operator-() const {
    Limb limbs[ap_detail::limb_count(W + 1)];
    this->limbs(limbs, ap_detail::limb_count(W + 1));
    ap_detail::negate(limbs, ap_detail::limb_count(W + 1));
    return ap_int_base<W + 1, true>::from_limbs(limbs);
  }
  ap_int_base& operator++() { return add_one(Limb(1), 0); }
  ap_int_base& operator--() { return add_one(~Limb(0), ~Limb(0)); }
  ap_int_base operator++(int) {
    const ap_int_base before = *this;
    ++*this;
    return before;
  }
  ap_int_base operator--(int) {
    const ap_int_base before = *this;
    --*this;
    return before;
  }

  // Shifts keep the type; a negative amount shifts the other way.
  ap_int_base shifted_left(int by) const {
    if (by < 0) return shifted_right(-by);
    Limb from[kLimbs], to[kLimbs];
    limbs(from, kLimbs);
    if (by >= W) return ap_int_base(0);
    ap_detail::shift_left(from, by, kLimbs, to);
    return from_limbs(to);
  }
  ap_int_base shifted_right(int by) const {
    if (by < 0) return shifted_left(-by);
    Limb from[kLimbs], to[kLimbs];
    limbs(from, kLimbs);
    ap_detail::shift_right(from, by < W ? by : W - 1, bits_.limb(kLimbs), kLimbs, to);
    if (by >= W) return sign() ? ap_int_base(-1) : ap_int_base(0);
    return from_limbs(to);
  }

 private:
  template <typename LimbOf>
  void assign_limbs(const LimbOf& limb_of) {
    Limb limbs[kLimbs];
    for (int i = 0; i < kLimbs; ++i) limbs[i] = limb_of(i);
    bits_.store(limbs);
  }
  ap_int_base& add_one(Limb low, Limb rest) {
    Limb value[kLimbs], one[kLimbs];
    limbs(value, kLimbs);
    for (int i = 0; i < kLimbs; ++i) one[i] = i == 0 ? low : rest;
    ap_detail::add(value, one, 0, kLimbs, value);
    bits_.store(value);
    return *this;
  }
  void assign_double(double value);

  ap_detail::Storage<W, S> bits_;
};

// Cut towards zero, modulo 2^W; NaN and infinity give 0.
template <int W, bool S>
void ap_int_base<W, S>::assign_double(double value) {
  Limb limbs[kLimbs] = {};
  int exponent = 0;
  const double fraction = std::isfinite(value) ? std::frexp(std::fabs(value), &exponent) : 0.0;
  const Limb digits = static_cast<Limb>(std::ldexp(fraction, 53));
  const int by = exponent - 53;
  if (by <= 0) {
    limbs[0] = by > -64 ? digits >> -by : 0;
  } else if (by < 64 * kLimbs) {
    Limb wide[kLimbs] = {digits};
    ap_detail::shift_left(wide, by, kLimbs, limbs);
  }
  if (value < 0) ap_detail::negate(limbs, kLimbs);
  bits_.store(limbs);
}

// Rounded to nearest even, once: limbs below the leading 64 bits only stick.
template <int W, bool S>
double ap_int_base<W, S>::to_double() const {
  Limb magnitude[kLimbs + 1];
  limbs(magnitude, kLimbs + 1);
  const bool negative = sign();
  if (negative) ap_detail::negate(magnitude, kLimbs + 1);
  int top = 64 * (kLimbs + 1) - 1;
  while (top >= 0 && !ap_detail::bit(magnitude, top)) --top;
  if (top < 64) {
    const double small = static_cast<double>(magnitude[0]);
    return negative ? -small : small;
  }
  Limb leading[kLimbs + 1];
  ap_detail::shift_right(magnitude, top - 63, 0, kLimbs + 1, leading);
  bool rest = false;
  for (int i = 0; i < top - 63; ++i) rest = rest || ap_detail::bit(magnitude, i);
  const double value = std::ldexp(static_cast<double>(leading[0] | (rest ? 1 : 0)), top - 63);
  return negative ? -value : value;
}

// Radix 2, 8 and 16 show the bits, with a prefix; 10 the number.
template <int W, bool S>
std::string ap_int_base<W, S>::to_string(int radix, bool as_signed) const {
  constexpr int kWide = kLimbs + 1;
  Limb value[kWide];
  limbs(value, kWide);
  const bool negative = radix == 10 && as_signed && sign();
  if (negative) ap_detail::negate(value, kWide);
  if (radix != 10 || !as_signed) {  // the W bits, not their extension
    for (int i = W; i < 64 * kWide; ++i) ap_detail::set_bit(value, i, false);
  }
  std::string digits;
  const int bits_per_digit = radix == 16 ? 4 : (radix == 8 ? 3 : 1);
  const int fixed = radix == 10 ? 1 : (W + bits_per_digit - 1) / bits_per_digit;
  while (static_cast<int>(digits.size()) < fixed || !ap_detail::is_zero(value, kWide)) {
    const std::uint32_t digit =
        ap_detail::divide_small(value, static_cast<std::uint32_t>(radix), kWide);
    digits.insert(digits.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[digit]);
  }
  const char* prefix = radix == 16 ? "0x" : (radix == 8 ? "0o" : (radix == 2 ? "0b" : ""));
  return (negative ? "-" : "") + std::string(prefix) + digits;
}

template <int W, bool S>
class ap_bit_ref {
 public:
  ap_bit_ref(ap_int_base<W, S>& number, int at) : number_(number), at_(at) {}
  ap_bit_ref(const ap_bit_ref&) = default;

  operator bool() const { return number_.test(at_); }
  bool to_bool() const { return number_.test(at_); }
  bool operator~() const { return !number_.test(at_); }
  int length() const { return 1; }
  ap_bit_ref& operator=(bool value) {
    number_.set_bit(at_, value);
    return *this;
  }
  ap_bit_ref& operator=(const ap_bit_ref& other) { return *this = static_cast<bool>(other); }

 private:
  ap_int_base<W, S>& number_;
  int at_;
};

// Bits high .. low of a number as an unsigned number of high - low + 1 bits; with high < low the
// bits stand in reverse order.
template <int W, bool S>
class ap_range_ref {
 public:
  typedef ap_int_base<W, false> Value;

  ap_range_ref(ap_int_base<W, S>& number, int high, int low)
      : number_(number), high_(high), low_(low) {}
  ap_range_ref(const ap_range_ref&) = default;

  int length() const { return (high_ >= low_ ? high_ - low_ : low_ - high_) + 1; }
  Value get() const {
    const int low = high_ >= low_ ? low_ : high_;
    const int bits = length();
    Value value = Value(number_).shifted_right(low);
    if (bits < W) value = value.shifted_left(W - bits).shifted_right(W - bits);
    if (high_ >= low_) return value;
    return value.reverse().shifted_right(W - bits);
  }
  template <int W2, bool S2>
  void put(const ap_int_base<W2, S2>& value) {
    const int low = high_ >= low_ ? low_ : high_;
    const int bits = length();
    Value fresh(value);
    if (high_ < low_) fresh = Value(fresh.shifted_left(W - bits)).reverse();
    Value mask = Value(~Value(0)).shifted_right(W - bits).shifted_left(low);
    fresh = fresh.shifted_left(low);
    ap_detail::Limb limbs[Value::kLimbs];
    for (int i = 0; i < Value::kLimbs; ++i) {
      limbs[i] = (number_.limb(i) & ~mask.limb(i)) | (fresh.limb(i) & mask.limb(i));
    }
    number_ = ap_int_base<W, S>::from_limbs(limbs);
  }

  template <typename T>
  ap_range_ref& operator=(const T& value);  // in ap_int.h: any number
  ap_range_ref& operator=(const ap_range_ref& other) {
    put(other.get());
    return *this;
  }

  operator unsigned long long() const { return get().to_uint64(); }
  int to_int() const { return get().to_int(); }
  unsigned to_uint() const { return get().to_uint(); }
  long to_long() const { return get().to_long(); }
  unsigned long to_ulong() const { return get().to_ulong(); }
  long long to_int64() const { return get().to_int64(); }
  unsigned long long to_uint64() const { return get().to_uint64(); }
  double to_double() const { return get().to_double(); }
  std::string to_string(int radix = 2) const { return get().to_string(radix, false); }
  bool and_reduce() const {
    for (int i = 0; i < length(); ++i) {
      if (!get().test(i)) return false;
    }
    return true;
  }
  bool or_reduce() const { return get().or_reduce(); }
  bool xor_reduce() const { return get().xor_reduce(); }

 private:
  ap_int_base<W, S>& number_;
  int high_, low_;
};
