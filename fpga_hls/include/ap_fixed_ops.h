// SPDX-License-Identifier: Apache-2.0
//
// Operators between fixed-point numbers, integers and native numbers.
//
// Results are exact in the type that HLS documents; only quotients are truncated towards zero. An
// integer counts as a fixed-point number without a fraction. With a floating-point operand the
// result has that operand's type. A shift keeps the left operand's type and drops the bits that
// leave it; a negative amount shifts the other way. Source: Vitis HLS user guide (UG1399), "Class
// Methods, Operators, and Data Members". C++11.
#pragma once

#include "ap_fixed_base.h"

#include "tandem_macros_begin.h"

namespace ap_detail {

// Types of results; A and B are ap_fixed_base.
template <typename A, typename B>
struct FixedResults {
  static constexpr bool kSigned = A::is_signed || B::is_signed;
  static constexpr int kWhole = larger(A::iwidth + (B::is_signed && !A::is_signed ? 1 : 0),
                                       B::iwidth + (A::is_signed && !B::is_signed ? 1 : 0));
  static constexpr int kFraction = larger(A::kFraction, B::kFraction);
  typedef ap_fixed_base<kWhole + 1 + kFraction, kWhole + 1, kSigned> Sum;
  typedef ap_fixed_base<kWhole + 1 + kFraction, kWhole + 1, true> Difference;
  typedef ap_fixed_base<A::width + B::width, A::iwidth + B::iwidth, kSigned> Product;
  typedef ap_fixed_base<A::width + larger(B::kFraction, 0) + (B::is_signed ? 1 : 0),
                        A::iwidth + B::kFraction + (B::is_signed ? 1 : 0), kSigned>
      Quotient;
  typedef ap_fixed_base<kWhole + kFraction, kWhole, kSigned> Logic;
};

// The bits of `a` in units of 2^-Fraction, as an integer of R's width.
template <typename R, typename A>
R aligned(const A& a, int fraction) {
  return R(a.bits()).shifted_left(fraction - A::kFraction);
}

#define TANDEM_AP_ALIGNED(name, result)                                                   \
  template <typename A, typename B>                                                       \
  typename FixedResults<A, B>::result fixed_##name(const A& a, const B& b) {              \
    typedef typename FixedResults<A, B>::result R;                                        \
    typedef typename R::Bits Bits;                                                        \
    return R::from_bits(                                                                  \
        name##_as<Bits>(aligned<Bits>(a, R::kFraction), aligned<Bits>(b, R::kFraction))); \
  }
TANDEM_AP_ALIGNED(sum, Sum)
TANDEM_AP_ALIGNED(difference, Difference)
TANDEM_AP_ALIGNED(conjunction, Logic)
TANDEM_AP_ALIGNED(disjunction, Logic)
TANDEM_AP_ALIGNED(exclusion, Logic)
#undef TANDEM_AP_ALIGNED

template <typename A, typename B>
typename FixedResults<A, B>::Product fixed_product(const A& a, const B& b) {
  typedef typename FixedResults<A, B>::Product R;
  return R::from_bits(product_as<typename R::Bits>(a.bits(), b.bits()));
}
template <typename A, typename B>
typename FixedResults<A, B>::Quotient fixed_quotient(const A& a, const B& b) {
  typedef typename FixedResults<A, B>::Quotient R;
  constexpr int kMore = larger(B::kFraction, 0);
  typedef ap_int_base<A::width + kMore, A::is_signed> Dividend;
  return R::from_bits(
      quotient_as<typename R::Bits>(Dividend(a.bits()).shifted_left(kMore), b.bits()));
}
template <typename A, typename B>
int fixed_compare(const A& a, const B& b) {
  constexpr int kFraction = larger(A::kFraction, B::kFraction);
  // The vendor's headers give a left operand that is shifted one bit more.
  constexpr int kMore = A::kFraction < kFraction ? 1 : 0;
  typedef ap_int_base<A::width + kFraction - A::kFraction + kMore, A::is_signed> Left;
  typedef ap_int_base<B::width + kFraction - B::kFraction, B::is_signed> Right;
  return compare_as_c(aligned<Left>(a, kFraction), aligned<Right>(b, kFraction));
}

// Converts integers to fixed-point numbers.
template <int W, bool S>
ap_fixed_base<W, W, S> whole_fixed(const ap_int_base<W, S>& number) {
  return ap_fixed_base<W, W, S>::from_bits(number);
}
template <typename D>
const D& as_fixed(const FixedNumber<D>& number) {
  return number.self();
}
template <typename D>
auto as_fixed(const Number<D>& number) -> decltype(whole_fixed(number.self().value())) {
  return whole_fixed(number.self().value());
}
template <typename T, IfInt<T> = 0>
auto as_fixed(const T& number) -> decltype(whole_fixed(as_number(number))) {
  return whole_fixed(as_number(number));
}
template <typename T, typename D>
T fixed_real(const FixedNumber<D>& number) {
  return static_cast<T>(number.self().to_double());
}

// Defines an operator for every pair of operands that has at least one fixed-point number.
#define TANDEM_AP_PAIRS(op, type, expression)                                \
  template <typename A, typename B>                                          \
  auto operator op(const FixedNumber<A>& a, const FixedNumber<B>& b)->type { \
    expression                                                               \
  }                                                                          \
  template <typename A, typename B>                                          \
  auto operator op(const FixedNumber<A>& a, const Number<B>& b)->type {      \
    expression                                                               \
  }                                                                          \
  template <typename A, typename B>                                          \
  auto operator op(const Number<A>& a, const FixedNumber<B>& b)->type {      \
    expression                                                               \
  }                                                                          \
  template <typename A, typename T, IfInt<T> = 0>                            \
  auto operator op(const FixedNumber<A>& a, T b)->type {                     \
    expression                                                               \
  }                                                                          \
  template <typename T, typename B, IfInt<T> = 0>                            \
  auto operator op(T a, const FixedNumber<B>& b)->type {                     \
    expression                                                               \
  }
#define TANDEM_AP_BINARY(op, function)                              \
  TANDEM_AP_PAIRS(op, decltype(function(as_fixed(a), as_fixed(b))), \
                  return function(as_fixed(a), as_fixed(b));)
TANDEM_AP_BINARY(+, fixed_sum)
TANDEM_AP_BINARY(-, fixed_difference)
TANDEM_AP_BINARY(*, fixed_product)
TANDEM_AP_BINARY(/, fixed_quotient)
TANDEM_AP_BINARY(&, fixed_conjunction)
TANDEM_AP_BINARY(|, fixed_disjunction)
TANDEM_AP_BINARY(^, fixed_exclusion)
#undef TANDEM_AP_BINARY

#define TANDEM_AP_REAL(op)                                                          \
  template <typename A, typename T, IfFloat<T> = 0>                                 \
  auto operator op(const FixedNumber<A>& a, T b)->decltype(fixed_real<T>(a) op b) { \
    return fixed_real<T>(a) op b;                                                   \
  }                                                                                 \
  template <typename A, typename T, IfFloat<T> = 0>                                 \
  auto operator op(T a, const FixedNumber<A>& b)->decltype(a op fixed_real<T>(b)) { \
    return a op fixed_real<T>(b);                                                   \
  }
TANDEM_AP_REAL(+)
TANDEM_AP_REAL(-)
TANDEM_AP_REAL(*)
TANDEM_AP_REAL(/)
#undef TANDEM_AP_REAL

// A comparison with a floating-point number is made between doubles.
#define TANDEM_AP_COMPARE(op)                                                     \
  TANDEM_AP_PAIRS(op, bool, return fixed_compare(as_fixed(a), as_fixed(b)) op 0;) \
  template <typename A, typename T, IfFloat<T> = 0>                               \
  bool operator op(const FixedNumber<A>& a, T b) {                                \
    return a.self().to_double() op static_cast<double>(b);                        \
  }                                                                               \
  template <typename A, typename T, IfFloat<T> = 0>                               \
  bool operator op(T a, const FixedNumber<A>& b) {                                \
    return static_cast<double>(a) op b.self().to_double();                        \
  }
TANDEM_AP_COMPARE(==)
TANDEM_AP_COMPARE(!=)
TANDEM_AP_COMPARE(<)
TANDEM_AP_COMPARE(<=)
TANDEM_AP_COMPARE(>)
TANDEM_AP_COMPARE(>=)
#undef TANDEM_AP_COMPARE
#undef TANDEM_AP_PAIRS

template <typename A, typename T, IfClass<T> = 0>
auto operator<<(const FixedNumber<A>& a, const T& by) -> decltype(amount_of(by), A()) {
  return A::from_bits(a.self().bits().shifted_left(amount_of(by)));
}
template <typename A, typename T, IfScalar<T> = 0>
auto operator<<(const FixedNumber<A>& a, T by) -> decltype(amount_of(by), A()) {
  return A::from_bits(a.self().bits().shifted_left(amount_of(by)));
}
template <typename A, typename T, IfClass<T> = 0>
auto operator>>(const FixedNumber<A>& a, const T& by) -> decltype(amount_of(by), A()) {
  return A::from_bits(a.self().bits().shifted_right(amount_of(by)));
}
template <typename A, typename T, IfScalar<T> = 0>
auto operator>>(const FixedNumber<A>& a, T by) -> decltype(amount_of(by), A()) {
  return A::from_bits(a.self().bits().shifted_right(amount_of(by)));
}

}  // namespace ap_detail

#include "tandem_macros_end.h"
