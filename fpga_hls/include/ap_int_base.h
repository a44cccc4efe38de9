// SPDX-License-Identifier: Apache-2.0
//
// ap_int_base<W, S>: a two's complement integer of W bits. The base of ap_int and ap_uint.
//
// Assignment wraps. Default construction leaves the value undefined, as HLS says. ap_int_ops.h has
// the operators between numbers, ap_int_ref.h the references to bits and ranges. Errors:
// std::domain_error for division by zero, std::invalid_argument for text that is not a number,
// std::out_of_range for a bit outside the number. Cost: widths up to 64 and up to 128 compute in
// native integers, wider ones in arrays of 64-bit words. Source: Vitis HLS user guide (UG1399),
// "Arbitrary Precision Integer Types". C++11.
#pragma once

#include <string>

#include "ap_int_compute.h"
#include "ap_int_misuse.h"
#include "ap_int_text.h"

#include "tandem_macros_begin.h"

template <int W, bool S>
class ap_int_base : public ap_detail::Number<ap_int_base<W, S>> {
  static_assert(W >= 1, "ap_int: at least 1 bit");
  static constexpr ap_detail::Kind kKind = ap_detail::kind_of(W);
  typedef ap_detail::KindTag<kKind> Tag;

 public:
  static constexpr int width = W;
  static constexpr bool sign_flag = S;
  static constexpr bool is_signed = S;
  static constexpr int kLimbs = ap_detail::limb_count(W);
  typedef ap_detail::Limb Limb;
  typedef typename ap_detail::Native<(W < 64 ? W : 64), S>::type NativeType;
  typedef typename std::conditional<W == 1 && !S, bool, NativeType>::type RetType;

  ap_int_base() = default;
  template <typename D>
  ap_int_base(const ap_detail::Number<D>& other) {
    assign(other.self(), Tag());
  }
  template <typename D>
  ap_int_base(const ap_detail::FixedNumber<D>& other) {
    assign(other.self().to_ap_int_base(), Tag());
  }
  template <int W2, bool S2>
  ap_int_base(const volatile ap_int_base<W2, S2>& other) {
    assign(const_cast<const ap_int_base<W2, S2>&>(other), Tag());
  }
  template <typename T, ap_detail::IfInt<T> = 0>
  ap_int_base(T value) {
    bits_.set128(static_cast<ap_detail::Uint128>(value), value < T(0) ? ~Limb(0) : 0);
  }
  ap_int_base(float value) : ap_int_base(static_cast<double>(value)) {}
  ap_int_base(double value) {
    if (value > -9.2e18 && value < 9.2e18) {
      const std::int64_t whole = static_cast<std::int64_t>(value);
      bits_.set128(static_cast<ap_detail::Uint128>(whole), whole < 0 ? ~Limb(0) : 0);
    } else {
      Limb limbs[kLimbs];
      ap_detail::limbs_of(value, kLimbs, limbs);
      bits_.set_limbs(limbs);
    }
  }
  ap_int_base(long double value) : ap_int_base(static_cast<double>(value)) {}
  template <typename H, typename std::enable_if<std::is_same<H, half>::value, int>::type = 0>
  ap_int_base(const H& value) : ap_int_base(static_cast<float>(value)) {}
  template <int W2, bool S2>
  ap_int_base(const ap_bit_ref<W2, S2>& bit) : ap_int_base(static_cast<bool>(bit)) {}
  ap_int_base(const char* text) : ap_int_base(text, 10) {}
  ap_int_base(const char* text, signed char radix) {
    Limb limbs[kLimbs];
    ap_detail::parse(text, radix, kLimbs, limbs);
    bits_.set_limbs(limbs);
  }
  template <typename T, ap_detail::IfClass<T> = 0>
  ap_int_base& operator=(const T& value) {
    return *this = ap_int_base(value);
  }
  template <typename T, ap_detail::IfScalar<T> = 0>
  ap_int_base& operator=(T value) {
    return *this = ap_int_base(value);
  }
  template <typename T, ap_detail::IfClass<T> = 0>
  void operator=(const T& value) volatile {
    const_cast<ap_int_base&>(*this) = ap_int_base(value);
  }
  template <typename T, ap_detail::IfScalar<T> = 0>
  void operator=(T value) volatile {
    const_cast<ap_int_base&>(*this) = ap_int_base(value);
  }

  // These functions return the number modulo 2^64, the number modulo 2^128, and limb i of the
  // sign-extended number.
  const ap_int_base& value() const { return *this; }
  Limb low64() const { return bits_.low64(); }
  ap_detail::Uint128 low128() const { return bits_.low128(); }
  Limb limb(int i) const { return bits_.limb(i); }
  template <int N>
  void limbs(Limb (&to)[N]) const {
    constexpr int kShared = ap_detail::smaller(N, kLimbs);
    bits_.copy(to, kShared);
    if (kShared == N) return;
    const Limb fill = bits_.limb(kLimbs);
    for (int i = kShared; i < N; ++i) to[i] = fill;
  }
  static ap_int_base from64(Limb value) {
    ap_int_base result;
    result.bits_.set64(value);
    return result;
  }
  static ap_int_base from128(ap_detail::Uint128 value) {
    ap_int_base result;
    result.bits_.set128(value, 0);
    return result;
  }
  static ap_int_base from_limbs(const Limb* limbs) {
    ap_int_base result;
    result.bits_.set_limbs(limbs);
    return result;
  }
  // For numbers of more than 128 bits.
  Limb* wide_limbs() { return bits_.limbs(); }
  ap_int_base& cut_top() {
    bits_.cut_top();
    return *this;
  }

  operator RetType() const { return static_cast<RetType>(bits_.low64()); }
  operator RetType() const volatile { return const_cast<const ap_int_base&>(*this); }
  int to_int() const { return static_cast<int>(bits_.low64()); }
  unsigned to_uint() const { return static_cast<unsigned>(bits_.low64()); }
  long to_long() const { return static_cast<long>(bits_.low64()); }
  unsigned long to_ulong() const { return static_cast<unsigned long>(bits_.low64()); }
  long long to_int64() const { return static_cast<long long>(bits_.low64()); }
  unsigned long long to_uint64() const { return bits_.low64(); }
  signed char to_char() const { return static_cast<signed char>(bits_.low64()); }
  signed char to_schar() const { return to_char(); }
  unsigned char to_uchar() const { return static_cast<unsigned char>(bits_.low64()); }
  short to_short() const { return static_cast<short>(bits_.low64()); }
  unsigned short to_ushort() const { return static_cast<unsigned short>(bits_.low64()); }
  bool to_bool() const { return !is_zero(); }
  float to_float() const { return to_real<float>(); }
  double to_double() const { return to_real<double>(); }
  template <typename H = half>
  H to_half() const {
    return H(to_double());
  }
  // `radix`: 2, 8, 10 or 16. See ap_int_text.h.
  std::string to_string(int radix = 2, bool as_signed = S) const {
    Limb limbs[kLimbs + 1];
    this->limbs(limbs);
    return ap_detail::text_of(limbs, kLimbs + 1, W, radix, as_signed && S);
  }

  int length() const { return W; }
  bool sign() const { return S && (bits_.limb(kLimbs - 1) >> 63) != 0; }
  bool is_neg() const { return sign(); }
  bool is_zero() const {
    Limb any = 0;
    for (int i = 0; i < kLimbs; ++i) any |= bits_.limb(i);
    return any == 0;
  }
  bool iszero() const { return is_zero(); }

  bool test(int at) const {
    ap_detail::checked_bit(at, W);
    return ((bits_.limb(at / 64) >> (at % 64)) & 1) != 0;
  }
  bool get_bit(int at) const { return test(at); }
  void set_bit(int at, bool value) {
    ap_detail::checked_bit(at, W);
    put(at, 1, value ? 1 : 0);
  }
  void set(int at) { set_bit(at, true); }
  void set(int at, bool value) { set_bit(at, value); }
  void set() { bits_.set128(~ap_detail::Uint128(0), ~Limb(0)); }
  void clear(int at) { set_bit(at, false); }
  void clear() { bits_.set128(0, 0); }
  void invert(int at) { set_bit(at, !test(at)); }
  void b_not() { *this = ~*this; }

  // Returns `count` (1 to 64) bits from bit `low` on. All of them must be in the number.
  Limb get(int low, int count) const {
    if (kKind == ap_detail::kWord) return ap_detail::cut(bits_.low64() >> low, count, false);
    const int at = low / 64, part = low % 64;
    Limb value = bits_.limb(at) >> part;
    if (part != 0) value |= bits_.limb(at + 1) << (64 - part);
    return ap_detail::cut(value, count, false);
  }
  void put(int low, int count, Limb value) { put_bits(low, count, value, Tag()); }

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

  // The concatenation of this number's bits above those of `low`: readable and assignable.
  template <typename D>
  auto concat(ap_detail::Number<D>& low) -> decltype(join(*this, low)) {
    return join(*this, low);
  }
  template <typename D>
  auto concat(const ap_detail::Number<D>& low) const -> decltype(join(*this, low)) {
    return join(*this, low);
  }

  bool or_reduce() const { return !is_zero(); }
  bool nor_reduce() const { return is_zero(); }
  bool and_reduce() const { return (~*this).is_zero(); }
  bool nand_reduce() const { return !and_reduce(); }
  bool xor_reduce() const {
    Limb all = 0;
    for (int i = 0; i < kLimbs; ++i) {
      const bool top = i == kLimbs - 1 && W % 64 != 0;
      all ^= top ? ap_detail::cut(bits_.limb(i), W % 64, false) : bits_.limb(i);
    }
    return __builtin_parityll(all) != 0;
  }
  bool xnor_reduce() const { return !xor_reduce(); }

  ap_int_base& reverse() {
    const ap_int_base before = *this;
    for (int i = 0; i < W; ++i) put(W - 1 - i, 1, before.get(i, 1));
    return *this;
  }
  ap_int_base& lrotate(int by) {
    by = ((by % W) + W) % W;
    const ap_int_base<W, false> bits(*this);
    return *this = by == 0
                       ? bits
                       : ap_int_base<W, false>(bits.shifted_left(by) | bits.shifted_right(W - by));
  }
  ap_int_base& rrotate(int by) { return lrotate(W - ((by % W) + W) % W); }
  // Without a loop that ends by the value: checks follow values that may be missing through
  // choices.
  int countLeadingZeros() const {
    if (W <= 64) {
      const unsigned long long bits = ap_int_base<W, false>(*this).to_uint64();
      return bits == 0 ? W : __builtin_clzll(bits) - (64 - W);
    }
    int count = W;
    for (int at = 0; at < W; ++at) count = get(at, 1) != 0 ? W - 1 - at : count;
    return count;
  }

  ap_int_base operator~() const { return inverted(Tag()); }
  bool operator!() const { return is_zero(); }
  ap_int_base operator+() const { return *this; }
  ap_int_base<W + 1, true> operator-() const {
    return ap_detail::difference_as<ap_int_base<W + 1, true>>(ap_int_base<1, false>(0), *this);
  }
  ap_int_base& operator++() { return *this += 1; }
  ap_int_base& operator--() { return *this -= 1; }
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
    if (by < 0) return shifted_right(by < -W ? W : -by);
    return by >= W ? ap_int_base(0) : moved_left(by, Tag());
  }
  ap_int_base shifted_right(int by) const {
    if (by < 0) return shifted_left(by < -W ? W : -by);
    return by >= W ? ap_int_base(sign() ? -1 : 0) : moved_right(by, Tag());
  }

#define TANDEM_AP_ASSIGN(op, compute)                                                   \
  template <typename D>                                                                 \
  ap_int_base& operator op(const ap_detail::Number<D>& other) {                         \
    return *this = ap_detail::compute<ap_int_base>(*this, other.self());                \
  }                                                                                     \
  template <typename T, ap_detail::IfInt<T> = 0>                                        \
  ap_int_base& operator op(T other) {                                                   \
    return *this = ap_detail::compute<ap_int_base>(*this, ap_detail::as_number(other)); \
  }
  TANDEM_AP_ASSIGN(+=, sum_as)
  TANDEM_AP_ASSIGN(-=, difference_as)
  TANDEM_AP_ASSIGN(*=, product_as)
  TANDEM_AP_ASSIGN(&=, conjunction_as)
  TANDEM_AP_ASSIGN(|=, disjunction_as)
  TANDEM_AP_ASSIGN(^=, exclusion_as)
#undef TANDEM_AP_ASSIGN
#define TANDEM_AP_ASSIGN(op, If, Operand)       \
  template <typename T, ap_detail::If<T> = 0>   \
  ap_int_base& operator op##=(Operand other) {  \
    return *this = ap_int_base(*this op other); \
  }
  TANDEM_AP_ASSIGN(+, IfFloat, T)
  TANDEM_AP_ASSIGN(-, IfFloat, T)
  TANDEM_AP_ASSIGN(*, IfFloat, T)
  TANDEM_AP_ASSIGN(/, IfScalar, T)
  TANDEM_AP_ASSIGN(/, IfClass, const T&)
  TANDEM_AP_ASSIGN(%, IfScalar, T)
  TANDEM_AP_ASSIGN(%, IfClass, const T&)
  TANDEM_AP_ASSIGN(<<, IfScalar, T)
  TANDEM_AP_ASSIGN(<<, IfClass, const T&)
  TANDEM_AP_ASSIGN(>>, IfScalar, T)
  TANDEM_AP_ASSIGN(>>, IfClass, const T&)
#undef TANDEM_AP_ASSIGN

 private:
  template <typename D>
  void assign(const D& other, ap_detail::KindTag<ap_detail::kWord>) {
    bits_.set64(other.low64());
  }
  template <typename D>
  void assign(const D& other, ap_detail::KindTag<ap_detail::kPair>) {
    bits_.set128(other.low128(), 0);
  }
  template <typename D>
  void assign(const D& other, ap_detail::KindTag<ap_detail::kWide>) {
    copy_limbs(other.value());
  }

  template <int W2, bool S2>
  void copy_limbs(const ap_int_base<W2, S2>& number) {
    Limb* to = bits_.limbs();
    for (int i = 0; i < kLimbs; ++i) to[i] = number.limb(i);
    bits_.cut_top();
  }

  void put_bits(int low, int count, Limb value, ap_detail::KindTag<ap_detail::kWord>) {
    const Limb mask = ap_detail::cut(~Limb(0), count, false) << low;
    bits_.set64((bits_.low64() & ~mask) | ((value << low) & mask));
  }
  void put_bits(int low, int count, Limb value, ap_detail::KindTag<ap_detail::kPair>) {
    const auto mask = static_cast<ap_detail::Uint128>(ap_detail::cut(~Limb(0), count, false))
                      << low;
    const auto placed = static_cast<ap_detail::Uint128>(value) << low;
    bits_.set128((bits_.low128() & ~mask) | (placed & mask), 0);
  }
  void put_bits(int low, int count, Limb value, ap_detail::KindTag<ap_detail::kWide>) {
    ap_detail::insert(bits_.limbs(), low, count, value);
    bits_.cut_top();
  }

  ap_int_base inverted(ap_detail::KindTag<ap_detail::kWord>) const {
    return from64(~bits_.low64());
  }
  ap_int_base inverted(ap_detail::KindTag<ap_detail::kPair>) const {
    return from128(~bits_.low128());
  }
  ap_int_base inverted(ap_detail::KindTag<ap_detail::kWide>) const {
    ap_int_base result;
    for (int i = 0; i < kLimbs; ++i) result.bits_.limbs()[i] = ~bits_.limb(i);
    return result.cut_top();
  }

  ap_int_base moved_left(int by, ap_detail::KindTag<ap_detail::kWord>) const {
    return from64(bits_.low64() << by);
  }
  ap_int_base moved_left(int by, ap_detail::KindTag<ap_detail::kPair>) const {
    return from128(bits_.low128() << by);
  }
  ap_int_base moved_left(int by, ap_detail::KindTag<ap_detail::kWide>) const {
    ap_int_base result;
    ap_detail::shift_left(bits_.limbs(), by, kLimbs, result.bits_.limbs());
    return result.cut_top();
  }
  ap_int_base moved_right(int by, ap_detail::KindTag<ap_detail::kWord>) const {
    return from64(S ? static_cast<Limb>(static_cast<std::int64_t>(bits_.low64()) >> by)
                    : bits_.low64() >> by);
  }
  ap_int_base moved_right(int by, ap_detail::KindTag<ap_detail::kPair>) const {
    typedef ap_detail::Uint128 Uint128;
    return from128(S ? static_cast<Uint128>(static_cast<ap_detail::Int128>(bits_.low128()) >> by)
                     : bits_.low128() >> by);
  }
  ap_int_base moved_right(int by, ap_detail::KindTag<ap_detail::kWide>) const {
    ap_int_base result;
    ap_detail::shift_right(bits_.limbs(), by, bits_.limb(kLimbs), kLimbs, result.bits_.limbs());
    return result.cut_top();
  }

  template <typename Real>
  Real to_real() const {
    if (kKind == ap_detail::kWord) {
      return S ? static_cast<Real>(static_cast<std::int64_t>(bits_.low64()))
               : static_cast<Real>(bits_.low64());
    }
    Limb limbs[kLimbs + 1];
    this->limbs(limbs);
    return ap_detail::real_of<Real>(limbs, kLimbs + 1);
  }

  ap_detail::Storage<W, S> bits_;
};

#include "tandem_macros_end.h"
