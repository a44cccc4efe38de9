// SPDX-License-Identifier: Apache-2.0
//
// Operators between integers of a stated width, ranges, concatenations, bits and native numbers.
//
// Arithmetic gives the full-width result that HLS documents (Results in ap_int_compute.h). A shift
// keeps the left operand's type; a negative amount shifts the other way. With a floating-point
// operand the result has that operand's type. Comparisons of mixed signs follow C's conversions
// (compare_as_c()). Only argument-dependent lookup finds the operators, so other code pays nothing
// for them. Source: Vitis HLS user guide (UG1399), "Class Methods and Operators". C++11.
#pragma once

#include "ap_int_ref.h"

#include "tandem_macros_begin.h"

namespace ap_detail {

template <typename T, typename D>
T real(const Number<D>& number) {
  return static_cast<T>(number.self().value().to_double());
}
template <typename A>
using ValueOf = typename std::decay<decltype(std::declval<const A&>().value())>::type;

#define TANDEM_AP_BINARY(op, result, function)                                                     \
  template <typename A, typename B>                                                                \
  typename Results<ValueOf<A>, ValueOf<B>>::result operator op(const Number<A>& a,                 \
                                                               const Number<B>& b) {               \
    typedef typename Results<ValueOf<A>, ValueOf<B>>::result R;                                    \
    return function<R>(a.self().value(), b.self().value());                                        \
  }                                                                                                \
  template <typename A, typename T, IfInt<T> = 0>                                                  \
  typename Results<ValueOf<A>, typename NumberOf<T>::type>::result operator op(const Number<A>& a, \
                                                                               T b) {              \
    typedef typename Results<ValueOf<A>, typename NumberOf<T>::type>::result R;                    \
    return function<R>(a.self().value(), as_number(b));                                            \
  }                                                                                                \
  template <typename A, typename T, IfInt<T> = 0>                                                  \
  typename Results<typename NumberOf<T>::type, ValueOf<A>>::result operator op(                    \
      T a, const Number<A>& b) {                                                                   \
    typedef typename Results<typename NumberOf<T>::type, ValueOf<A>>::result R;                    \
    return function<R>(as_number(a), b.self().value());                                            \
  }
TANDEM_AP_BINARY(+, Sum, sum_as)
TANDEM_AP_BINARY(-, Difference, difference_as)
TANDEM_AP_BINARY(*, Product, product_as)
TANDEM_AP_BINARY(/, Quotient, quotient_as)
TANDEM_AP_BINARY(%, Remainder, remainder_as)
TANDEM_AP_BINARY(&, Logic, conjunction_as)
TANDEM_AP_BINARY(|, Logic, disjunction_as)
TANDEM_AP_BINARY(^, Logic, exclusion_as)
#undef TANDEM_AP_BINARY

#define TANDEM_AP_REAL(op)                                               \
  template <typename A, typename T, IfFloat<T> = 0>                      \
  auto operator op(const Number<A>& a, T b)->decltype(real<T>(a) op b) { \
    return real<T>(a) op b;                                              \
  }                                                                      \
  template <typename A, typename T, IfFloat<T> = 0>                      \
  auto operator op(T a, const Number<A>& b)->decltype(a op real<T>(b)) { \
    return a op real<T>(b);                                              \
  }
TANDEM_AP_REAL(+)
TANDEM_AP_REAL(-)
TANDEM_AP_REAL(*)
TANDEM_AP_REAL(/)

#define TANDEM_AP_COMPARE(op)                                     \
  template <typename A, typename B>                               \
  bool operator op(const Number<A>& a, const Number<B>& b) {      \
    return compare_as_c(a.self().value(), b.self().value()) op 0; \
  }                                                               \
  template <typename A, typename T, IfInt<T> = 0>                 \
  bool operator op(const Number<A>& a, T b) {                     \
    return compare_as_c(a.self().value(), as_number(b)) op 0;     \
  }                                                               \
  template <typename A, typename T, IfInt<T> = 0>                 \
  bool operator op(T a, const Number<A>& b) {                     \
    return compare_as_c(as_number(a), b.self().value()) op 0;     \
  }                                                               \
  TANDEM_AP_REAL(op)
TANDEM_AP_COMPARE(==)
TANDEM_AP_COMPARE(!=)
TANDEM_AP_COMPARE(<)
TANDEM_AP_COMPARE(<=)
TANDEM_AP_COMPARE(>)
TANDEM_AP_COMPARE(>=)
#undef TANDEM_AP_COMPARE
#undef TANDEM_AP_REAL

// A shift's amount as an int, clipped to +-2^30, which is beyond every width.
template <typename D>
int amount_of(const Number<D>& by) {
  const auto& number = by.self().value();
  constexpr int kFar = 1 << 30;
  if (number.width <= 31) return static_cast<int>(number.low64());
  if (number.sign()) return compare(number, as_number(-kFar)) < 0 ? -kFar : number.to_int();
  return compare(number, as_number(kFar)) > 0 ? kFar : number.to_int();
}
template <typename T, IfInt<T> = 0>
int amount_of(T by) {
  return amount_of(as_number(by));
}

template <typename A, typename B>
ValueOf<A> operator<<(const Number<A>& a, const Number<B>& by) {
  return a.self().value().shifted_left(amount_of(by));
}
template <typename A, typename T, IfInt<T> = 0>
ValueOf<A> operator<<(const Number<A>& a, T by) {
  return a.self().value().shifted_left(amount_of(by));
}
template <typename A, typename B>
ValueOf<A> operator>>(const Number<A>& a, const Number<B>& by) {
  return a.self().value().shifted_right(amount_of(by));
}
template <typename A, typename T, IfInt<T> = 0>
ValueOf<A> operator>>(const Number<A>& a, T by) {
  return a.self().value().shifted_right(amount_of(by));
}
// A native number is shifted in its own promoted type, as in C++.
template <typename T, typename B,
          typename std::enable_if<(NativeInt<T>::kWidth > 0), int>::type = 0>
auto operator<<(T a, const Number<B>& by) -> decltype(a << amount_of(by)) {
  return a << amount_of(by);
}
template <typename T, typename B,
          typename std::enable_if<(NativeInt<T>::kWidth > 0), int>::type = 0>
auto operator>>(T a, const Number<B>& by) -> decltype(a >> amount_of(by)) {
  return a >> amount_of(by);
}

}  // namespace ap_detail

#include "tandem_macros_end.h"
