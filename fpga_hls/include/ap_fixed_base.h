// SPDX-License-Identifier: Apache-2.0
//
// ap_fixed_base<W, I, S, Q, O, N>: a fixed-point number of W bits, I of them before the point. The
// base of ap_fixed and ap_ufixed.
//
// The value is bits() * 2^(I - W); I may be negative or larger than W. Assignment first quantises
// by Q, then handles overflow by O and N (ap_fixed_fit.h). Conversions to integers truncate towards
// zero. Default construction leaves the value undefined. Text with a prefix ("0b1.01", "0x0.8") is
// read exactly; decimal text is read as a double. Storage is that of ap_int<W>. Source: Vitis HLS
// user guide (UG1399), "Arbitrary Precision Fixed-Point Data Types". C++11.
#pragma once

#include "ap_fixed_fit.h"
#include "ap_fixed_text.h"

#include "tandem_macros_begin.h"

namespace ap_detail {

// Bits of a fixed-point number. A shift to the left keeps the bits that leave the number's width,
// up to 64 bits, because bits are often moved to their place in another format.
template <int W, bool S>
class FixedRange : public ap_range_ref<W, S> {
 public:
  FixedRange(const ap_range_ref<W, S>& bits) : ap_range_ref<W, S>(bits) {}
  FixedRange(const FixedRange&) = default;
  using ap_range_ref<W, S>::operator=;
  FixedRange& operator=(const FixedRange& other) {
    ap_range_ref<W, S>::operator=(other);
    return *this;
  }
  // Assigns the bits of `other`. (A range of an integer gets the value without its fraction.)
  template <typename D>
  FixedRange& operator=(const FixedNumber<D>& other) {
    this->put(other.self().bits());
    return *this;
  }
  template <typename T>
  ap_int_base<larger(W, 64), false> operator<<(const T& by) const {
    return ap_int_base<larger(W, 64), false>(this->value()).shifted_left(amount_of(by));
  }
};

}  // namespace ap_detail

template <int W, int I, bool S = true, ap_q_mode Q = AP_TRN, ap_o_mode O = AP_WRAP, int N = 0>
class ap_fixed_base : public ap_detail::FixedNumber<ap_fixed_base<W, I, S, Q, O, N>> {
  template <typename T>
  using IfNative = typename std::enable_if<std::is_arithmetic<T>::value, int>::type;
  using Range = ap_detail::FixedRange<W, S>;

 public:
  typedef ap_int_base<W, S> Bits;
  static constexpr int width = W;
  static constexpr int iwidth = I;
  static constexpr int kFraction = W - I;
  static constexpr bool is_signed = S;
  static constexpr bool sign_flag = S;
  static constexpr ap_q_mode qmode = Q;
  static constexpr ap_o_mode omode = O;

  ap_fixed_base() = default;
  template <typename D>
  ap_fixed_base(const ap_detail::FixedNumber<D>& other)
      : bits_(ap_detail::Fit<Q, O, N, W, S, D::kFraction - kFraction>::of(other.self().bits())) {}
  template <typename D>
  ap_fixed_base(const ap_detail::Number<D>& other)
      : bits_(ap_detail::Fit<Q, O, N, W, S, -kFraction>::of(other.self().value())) {}
  template <typename T, ap_detail::IfInt<T> = 0>
  ap_fixed_base(T value)
      : bits_(ap_detail::Fit<Q, O, N, W, S, -kFraction>::of(ap_detail::as_number(value))) {}
  ap_fixed_base(float value) : ap_fixed_base(static_cast<double>(value)) {}
  ap_fixed_base(double value) : bits_(ap_detail::fit_real<Q, O, N, W, S, kFraction>(value)) {}
  ap_fixed_base(long double value) : bits_(ap_detail::fit_real<Q, O, N, W, S, kFraction>(value)) {}
  template <typename H, typename std::enable_if<std::is_same<H, half>::value, int>::type = 0>
  ap_fixed_base(const H& value) : ap_fixed_base(static_cast<float>(value)) {}
  ap_fixed_base(const char* text) : ap_fixed_base(text, 10) {}
  ap_fixed_base(const char* text, signed char radix) {
    ap_int_base<W + 192, true> digits;
    int exponent = 0;
    double decimal = 0;
    if (ap_detail::read_digits(text, radix, &digits, &exponent, &decimal)) {
      bits_ = from_digits(digits, exponent + kFraction);
    } else {
      *this = ap_fixed_base(decimal);
    }
  }
  // A number with these bits.
  static ap_fixed_base from_bits(const Bits& bits) {
    ap_fixed_base result;
    result.bits_ = bits;
    return result;
  }

  const Bits& bits() const { return bits_; }
  Bits& bits() { return bits_; }
  // Sets the bits without interpreting them.
  ap_fixed_base& setBits(unsigned long long value) {
    bits_ = Bits(value);
    return *this;
  }

  // Converts to an integer; the fraction is cut towards zero.
  ap_int_base<ap_detail::larger(I, 1), S> to_ap_int_base() const {
    typedef ap_int_base<ap_detail::larger(I, 1), S> Int;
    if (kFraction <= 0) return Int(bits_).shifted_left(-kFraction);
    const Bits whole = bits_.shifted_right(kFraction);
    const bool rest = bits_ != whole.shifted_left(kFraction);
    return bits_.sign() && rest ? Int(whole + 1) : Int(whole);
  }
  int to_int() const { return to_ap_int_base().to_int(); }
  unsigned to_uint() const { return to_ap_int_base().to_uint(); }
  long to_long() const { return to_ap_int_base().to_long(); }
  unsigned long to_ulong() const { return to_ap_int_base().to_ulong(); }
  long long to_int64() const { return to_ap_int_base().to_int64(); }
  unsigned long long to_uint64() const { return to_ap_int_base().to_uint64(); }
  signed char to_char() const { return to_ap_int_base().to_char(); }
  short to_short() const { return to_ap_int_base().to_short(); }
  unsigned short to_ushort() const { return to_ap_int_base().to_ushort(); }
  bool to_bool() const { return !is_zero(); }
  float to_float() const { return scaled(bits_.to_float()); }
  double to_double() const { return scaled(bits_.to_double()); }
  template <typename H = half>
  H to_half() const {
    return H(to_double());
  }
  template <typename T, IfNative<T> = 0>
  operator T() const {
    return native(T(), std::is_floating_point<T>());
  }
  // Built-in operators see no template: a number as an index, or added to a pointer. There are two,
  // so that no other built-in operator takes a number as an integer: it cannot choose.
  operator long() const { return native(long(), std::false_type()); }
  operator int() const { return native(int(), std::false_type()); }
  // `radix`: 2, 8, 10 or 16. The text has a point if the number has a fraction.
  std::string to_string(int radix = 2) const {
    constexpr int kWide = ap_detail::larger(W, ap_detail::larger(I, W - I)) + 2;
    ap_int_base<kWide, true> value(bits_);
    if (kFraction < 0) value = value.shifted_left(-kFraction);
    return ap_detail::fixed_text(value, ap_detail::larger(kFraction, 0), ap_detail::larger(I, 1),
                                 radix);
  }

  int length() const { return W; }
  int wl() const { return W; }
  int iwl() const { return I; }
  ap_q_mode q_mode() const { return Q; }
  ap_o_mode o_mode() const { return O; }
  int n_bits() const { return N; }
  bool is_zero() const { return bits_.is_zero(); }
  bool is_neg() const { return bits_.sign(); }
  bool sign() const { return bits_.sign(); }

  ap_bit_ref<W, S> operator[](int at) { return bits_[at]; }
  bool operator[](int at) const { return bits_[at]; }
  ap_bit_ref<W, S> bit(int at) { return bits_[at]; }
  bool bit(int at) const { return bits_[at]; }
  Range range(int high, int low) { return bits_.range(high, low); }
  Range range(int high, int low) const { return bits_.range(high, low); }
  Range range() { return bits_.range(); }
  Range range() const { return bits_.range(); }
  Range operator()(int high, int low) { return bits_.range(high, low); }
  Range operator()(int high, int low) const { return bits_.range(high, low); }

  ap_fixed_base operator+() const { return *this; }
  ap_fixed_base<W + 1, I + 1, true> operator-() const {
    return ap_fixed_base<W + 1, I + 1, true>::from_bits(-bits_);
  }
  ap_fixed_base<W, I, S> operator~() const { return ap_fixed_base<W, I, S>::from_bits(~bits_); }
  bool operator!() const { return is_zero(); }
  ap_fixed_base& operator++() { return *this += 1; }
  ap_fixed_base& operator--() { return *this -= 1; }
  ap_fixed_base operator++(int) {
    const ap_fixed_base before = *this;
    ++*this;
    return before;
  }
  ap_fixed_base operator--(int) {
    const ap_fixed_base before = *this;
    --*this;
    return before;
  }

#define TANDEM_AP_ASSIGN(op)                        \
  template <typename T, ap_detail::IfClass<T> = 0>  \
  ap_fixed_base& operator op##=(const T& other) {   \
    return *this = ap_fixed_base(*this op other);   \
  }                                                 \
  template <typename T, ap_detail::IfScalar<T> = 0> \
  ap_fixed_base& operator op##=(T other) {          \
    return *this = ap_fixed_base(*this op other);   \
  }
  TANDEM_AP_ASSIGN(+)
  TANDEM_AP_ASSIGN(-)
  TANDEM_AP_ASSIGN(*)
  TANDEM_AP_ASSIGN(/)
  TANDEM_AP_ASSIGN(&)
  TANDEM_AP_ASSIGN(|)
  TANDEM_AP_ASSIGN(^)
  TANDEM_AP_ASSIGN(<<)
  TANDEM_AP_ASSIGN(>>)
#undef TANDEM_AP_ASSIGN

 private:
  template <typename T>
  T native(T, std::true_type) const {
    return static_cast<T>(scaled(sizeof(T) == 4 ? bits_.to_float() : bits_.to_double()));
  }
  template <typename T>
  T native(T, std::false_type) const {
    return static_cast<T>(to_ap_int_base().low64());
  }
  bool native(bool, std::false_type) const { return to_bool(); }
  template <typename Real>
  static Real scaled(Real value) {
    return kFraction < 100 && kFraction > -100 ? value * ap_detail::power_of_two<Real>(-kFraction)
                                               : std::ldexp(value, -kFraction);
  }
  template <typename T>
  static Bits from_digits(const T& digits, int exponent) {
    const int far = W + 2;
    return ap_detail::bounded<O, N, W, S>(
        exponent < 0 ? ap_detail::quantised<Q>(digits, ap_detail::smaller(-exponent, W + 180))
                     : T(digits.shifted_left(ap_detail::smaller(exponent, far))));
  }

  Bits bits_;
};

#include "tandem_macros_end.h"
