// SPDX-License-Identifier: Apache-2.0
//
// Parts of integers as values and as targets of assignments: ap_bit_ref, ap_range_ref (bits high ..
// low, reversed where high < low) and ap_concat_ref (two parts side by side).
//
// A reference is valid as long as its number. A bit counts as bool. A range counts as an unsigned
// number as wide as its whole number, because high and low are known at run time only; length() is
// the true width, and assignment truncates to it. Cost: a range of up to 64 bits, of a number of
// any width, is a few shifts. Source: Vitis HLS user guide (UG1399), "Class Methods and Operators".
// C++11.
#pragma once

#include "ap_int_base.h"

#include "tandem_macros_begin.h"

template <int W, bool S>
class ap_bit_ref : public ap_detail::Bit {
 public:
  ap_bit_ref(ap_int_base<W, S>& number, int at)
      : number_(number), at_(ap_detail::checked_bit(at, W)) {}
  ap_bit_ref(const ap_bit_ref&) = default;

  operator bool() const { return get(); }
  bool get() const { return number_.get(at_, 1) != 0; }
  bool to_bool() const { return get(); }
  bool operator~() const { return !get(); }
  int length() const { return 1; }
  std::string to_string() const { return get() ? "1" : "0"; }
  template <typename T, ap_detail::IfClass<T> = 0>
  ap_bit_ref& operator=(const T& value) {
    set(static_cast<bool>(value));
    return *this;
  }
  template <typename T, ap_detail::IfScalar<T> = 0>
  ap_bit_ref& operator=(T value) {
    set(static_cast<bool>(value));
    return *this;
  }
  ap_bit_ref& operator=(const ap_bit_ref& other) {
    set(other.get());
    return *this;
  }
  ap_bit_ref& operator|=(bool value) { return *this = get() || value; }
  ap_bit_ref& operator&=(bool value) { return *this = get() && value; }
  ap_bit_ref& operator^=(bool value) { return *this = get() != value; }
  void set(bool value) { number_.put(at_, 1, value ? 1 : 0); }

  // The interface of a part of a concatenation.
  static constexpr int kWidth = 1;
  ap_detail::Limb low64() const { return number_.get(at_, 1); }
  ap_int_base<1, false> value() const { return ap_int_base<1, false>(get()); }
  template <typename N>
  void put(const N& value) {
    set((value.low64() & 1) != 0);
  }

 private:
  ap_int_base<W, S>& number_;
  int at_;
};

template <int W, bool S>
class ap_range_ref : public ap_detail::Number<ap_range_ref<W, S>> {
 public:
  typedef ap_int_base<W, false> Value;
  typedef ap_detail::Limb Limb;
  static constexpr int width = W;
  static constexpr int kWidth = W;

  ap_range_ref(ap_int_base<W, S>& number, int high, int low)
      : number_(number),
        high_(ap_detail::checked_bit(high, W)),
        low_(ap_detail::checked_bit(low, W)) {}
  ap_range_ref(const ap_range_ref&) = default;

  int length() const { return (high_ >= low_ ? high_ - low_ : low_ - high_) + 1; }
  Value get() const { return value(); }
  Value to_ap_int_base() const { return value(); }
  Value value() const {
    if (length() <= 64) return Value(low64());
    const int bottom = high_ >= low_ ? low_ : high_, unused = W - length();
    Value bits = Value(number_).shifted_right(bottom).shifted_left(unused).shifted_right(unused);
    return high_ >= low_ ? bits : bits.reverse().shifted_right(unused);
  }
  // The lowest 64 bits of the range.
  Limb low64() const {
    const int count = length() < 64 ? length() : 64;
    if (high_ >= low_) return number_.get(low_, count);
    Limb bits = 0;
    for (int i = 0; i < count; ++i) bits |= number_.get(low_ - i, 1) << i;
    return bits;
  }
  ap_detail::Uint128 low128() const {
    return length() <= 64 ? ap_detail::Uint128(low64()) : value().low128();
  }

  template <typename D>
  void put(const ap_detail::Number<D>& other) {
    const int count = length();
    if (high_ >= low_ && count <= 64) {
      number_.put(low_, count, other.self().low64());
      return;
    }
    const ap_int_base<W, false> bits(other);
    if (high_ >= low_) {
      for (int done = 0; done < count; done += 64) {
        const int piece = count - done < 64 ? count - done : 64;
        number_.put(low_ + done, piece, bits.limb(done / 64));
      }
    } else {
      for (int i = 0; i < count; ++i) number_.put(low_ - i, 1, bits.get(i, 1));
    }
  }

  ap_range_ref& operator=(const ap_range_ref& other) {
    // Copies the value first, because both may be ranges of one number.
    put(other.value());
    return *this;
  }
  template <typename D>
  ap_range_ref& operator=(const ap_detail::Number<D>& other) {
    put(other.self().value());
    return *this;
  }
  template <typename D>
  ap_range_ref& operator=(const ap_detail::FixedNumber<D>& other) {
    put(other.self().to_ap_int_base());
    return *this;
  }
  template <typename T, ap_detail::IfInt<T> = 0>
  ap_range_ref& operator=(T other) {
    put(ap_detail::as_number(other));
    return *this;
  }
  template <typename T, ap_detail::IfFloat<T> = 0>
  ap_range_ref& operator=(T other) {
    put(ap_int_base<W, true>(other));
    return *this;
  }
  ap_range_ref& operator=(const char* text) {
    put(ap_int_base<W, false>(text));
    return *this;
  }

#define TANDEM_AP_ASSIGN(op)                        \
  template <typename T, ap_detail::IfClass<T> = 0>  \
  ap_range_ref& operator op##=(const T& other) {    \
    return *this = value() op other;                \
  }                                                 \
  template <typename T, ap_detail::IfScalar<T> = 0> \
  ap_range_ref& operator op##=(T other) {           \
    return *this = value() op other;                \
  }
  TANDEM_AP_ASSIGN(+)
  TANDEM_AP_ASSIGN(-)
  TANDEM_AP_ASSIGN(*)
  TANDEM_AP_ASSIGN(/)
  TANDEM_AP_ASSIGN(%)
  TANDEM_AP_ASSIGN(&)
  TANDEM_AP_ASSIGN(|)
  TANDEM_AP_ASSIGN(^)
  TANDEM_AP_ASSIGN(<<)
  TANDEM_AP_ASSIGN(>>)
#undef TANDEM_AP_ASSIGN

  // A range within this range; bits count from its lowest bit.
  ap_range_ref range(int high, int low) const {
    return ap_range_ref(number_, place_of(high), place_of(low));
  }
  ap_range_ref operator()(int high, int low) const { return range(high, low); }
  ap_bit_ref<W, S> operator[](int at) const { return ap_bit_ref<W, S>(number_, place_of(at)); }
  ap_bit_ref<W, S> bit(int at) const { return (*this)[at]; }
  bool test(int at) const { return number_.get(place_of(at), 1) != 0; }

  operator unsigned long long() const { return low64(); }
  int to_int() const { return static_cast<int>(low64()); }
  unsigned to_uint() const { return static_cast<unsigned>(low64()); }
  long to_long() const { return static_cast<long>(low64()); }
  unsigned long to_ulong() const { return low64(); }
  long long to_int64() const { return static_cast<long long>(low64()); }
  unsigned long long to_uint64() const { return low64(); }
  bool to_bool() const { return or_reduce(); }
  double to_double() const { return value().to_double(); }
  float to_float() const { return value().to_float(); }
  // The text has as many digits as the range needs.
  std::string to_string(int radix = 2) const {
    Limb limbs[Value::kLimbs + 1];
    value().limbs(limbs);
    return ap_detail::text_of(limbs, Value::kLimbs + 1, length(), radix, false);
  }
  bool or_reduce() const { return !value().is_zero(); }
  bool nor_reduce() const { return !or_reduce(); }
  bool and_reduce() const { return value() == (Value(0) - 1).range(length() - 1, 0); }
  bool nand_reduce() const { return !and_reduce(); }
  bool xor_reduce() const { return value().xor_reduce(); }
  bool xnor_reduce() const { return !xor_reduce(); }
  template <typename D>
  auto concat(const ap_detail::Number<D>& low) const -> decltype(join(*this, low)) {
    return join(*this, low);
  }
  ap_int_base<W + 1, true> operator-() const { return -value(); }
  Value operator~() const {
    Value bits = ~value();
    return bits.shifted_left(W - length()).shifted_right(W - length());
  }

 private:
  int place_of(int at) const {
    ap_detail::checked_bit(at, length());
    return high_ >= low_ ? low_ + at : low_ - at;
  }

  ap_int_base<W, S>& number_;
  int high_, low_;
};

// (high, low): A and B are ap_range_ref, ap_bit_ref, ap_concat_ref or numbers by value.
template <typename A, typename B>
class ap_concat_ref : public ap_detail::Number<ap_concat_ref<A, B>> {
 public:
  static constexpr int kWidth = A::kWidth + B::kWidth;
  static constexpr int width = kWidth;
  typedef ap_int_base<kWidth, false> Value;

  ap_concat_ref(const A& high, const B& low) : high_(high), low_(low) {}
  ap_concat_ref(const ap_concat_ref&) = default;

  int length() const { return high_.length() + low_.length(); }
  Value get() const { return value(); }
  Value to_ap_int_base() const { return value(); }
  Value value() const {
    return ap_detail::disjunction_as<Value>(Value(high_.value()).shifted_left(low_.length()),
                                            low_.value());
  }
  ap_detail::Limb low64() const {
    const int shift = low_.length();
    return shift >= 64 ? low_.low64() : (high_.low64() << shift) | low_.low64();
  }
  ap_detail::Uint128 low128() const { return value().low128(); }
  template <typename D>
  void put(const ap_detail::Number<D>& other) {
    const Value bits(other);
    low_.put(bits);
    high_.put(bits.shifted_right(low_.length()));
  }

  ap_concat_ref& operator=(const ap_concat_ref& other) {
    put(other.value());
    return *this;
  }
  template <typename D>
  ap_concat_ref& operator=(const ap_detail::Number<D>& other) {
    put(other.self().value());
    return *this;
  }
  template <typename D>
  ap_concat_ref& operator=(const ap_detail::FixedNumber<D>& other) {
    put(other.self().to_ap_int_base());
    return *this;
  }
  template <typename T, ap_detail::IfInt<T> = 0>
  ap_concat_ref& operator=(T other) {
    put(ap_detail::as_number(other));
    return *this;
  }
  Value operator~() const { return ~value(); }
  ap_int_base<kWidth + 1, true> operator-() const { return -value(); }
  operator unsigned long long() const { return low64(); }
  int to_int() const { return static_cast<int>(low64()); }
  unsigned to_uint() const { return static_cast<unsigned>(low64()); }
  unsigned long long to_uint64() const { return low64(); }
  std::string to_string(int radix = 2) const { return value().to_string(radix); }

 private:
  A high_;
  B low_;
};

namespace ap_detail {

// How a concatenation stores each operand: a constant number by value, others by reference.
template <int W>
struct Constant : ap_int_base<W, false> {
  static constexpr int kWidth = W;
  template <typename N>
  explicit Constant(const N& number) : ap_int_base<W, false>(number) {}
};
template <int W, bool S>
ap_range_ref<W, S> part(ap_int_base<W, S>& number) {
  return ap_range_ref<W, S>(number, W - 1, 0);
}
template <int W, bool S>
Constant<W> part(const ap_int_base<W, S>& number) {
  return Constant<W>(number);
}
template <int W, bool S>
ap_range_ref<W, S> part(const ap_range_ref<W, S>& range) {
  return range;
}
template <int W, bool S>
ap_bit_ref<W, S> part(const ap_bit_ref<W, S>& bit) {
  return bit;
}
template <typename A, typename B>
ap_concat_ref<A, B> part(const ap_concat_ref<A, B>& both) {
  return both;
}
template <typename T>
typename std::enable_if<(NativeInt<T>::kWidth > 0), Constant<NativeInt<T>::kWidth>>::type part(
    const T& value) {
  return Constant<NativeInt<T>::kWidth>(value);
}

template <typename A, typename B>
ap_concat_ref<A, B> joined(const A& high, const B& low) {
  return ap_concat_ref<A, B>(high, low);
}
template <typename A, typename B>
auto join(Number<A>& high, Number<B>& low)
    -> decltype(joined(part(high.self()), part(low.self()))) {
  return joined(part(high.self()), part(low.self()));
}
template <typename A, typename B>
auto join(const Number<A>& high, Number<B>& low)
    -> decltype(joined(part(high.self()), part(low.self()))) {
  return joined(part(high.self()), part(low.self()));
}
template <typename A, typename B>
auto join(Number<A>& high, const Number<B>& low)
    -> decltype(joined(part(high.self()), part(low.self()))) {
  return joined(part(high.self()), part(low.self()));
}
template <typename A, typename B>
auto join(const Number<A>& high, const Number<B>& low)
    -> decltype(joined(part(high.self()), part(low.self()))) {
  return joined(part(high.self()), part(low.self()));
}

template <typename A, typename B>
auto operator,(Number<A>& high, Number<B>& low) -> decltype(join(high, low)) {
  return join(high, low);
}
template <typename A, typename B>
auto operator,(const Number<A>& high, Number<B>& low) -> decltype(join(high, low)) {
  return join(high, low);
}
template <typename A, typename B>
auto operator,(Number<A>& high, const Number<B>& low) -> decltype(join(high, low)) {
  return join(high, low);
}
template <typename A, typename B>
auto operator,(const Number<A>& high, const Number<B>& low) -> decltype(join(high, low)) {
  return join(high, low);
}
// Bits and native integers can be concatenated, too. A native integer is as wide as its type.
template <typename A, typename T, IfInt<T> = 0>
auto operator,(Number<A>& high, const T& low) -> decltype(joined(part(high.self()), part(low))) {
  return joined(part(high.self()), part(low));
}
template <typename A, typename T, IfInt<T> = 0>
auto operator,(const Number<A>& high, const T& low)
                  -> decltype(joined(part(high.self()), part(low))) {
  return joined(part(high.self()), part(low));
}
template <typename A, typename T, IfInt<T> = 0>
auto operator,(const T& high, Number<A>& low) -> decltype(joined(part(high), part(low.self()))) {
  return joined(part(high), part(low.self()));
}
template <typename A, typename T, IfInt<T> = 0>
auto operator,(const T& high, const Number<A>& low)
                  -> decltype(joined(part(high), part(low.self()))) {
  return joined(part(high), part(low.self()));
}
template <int W, bool S, typename T, IfInt<T> = 0>
auto operator,(const ap_bit_ref<W, S>& high, const T& low)
                  -> decltype(joined(part(high), part(low))) {
  return joined(part(high), part(low));
}

}  // namespace ap_detail

#include "tandem_macros_end.h"
