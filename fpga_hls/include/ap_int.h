// SPDX-License-Identifier: Apache-2.0
//
// ap_int<W> and ap_uint<W> for software emulation: integers of any width, exact to the bit.
//
// Operators between numbers (ap types, ranges, bits, native integers) give the full-width result
// that HLS documents: sums one bit wider than the wider operand, products the sum of the widths,
// quotients the dividend's width (one more when the divisor is signed), remainders the smaller, bit
// operations the wider; one more bit where an unsigned operand meets a signed one. Shifts keep the
// left operand's type. Assignment wraps. (a, b) and a.concat(b) join bits. Source: Vitis HLS user
// guide (UG1399), "Arbitrary Precision Integer Types". C++14.
#pragma once

#include <istream>
#include <ostream>

#include "ap_int_base.h"

template <int W>
class ap_int : public ap_int_base<W, true> {
 public:
  typedef ap_int_base<W, true> Base;
  using Base::Base;
  ap_int() = default;
  ap_int(const Base& value) : Base(value) {}
};

template <int W>
class ap_uint : public ap_int_base<W, false> {
 public:
  typedef ap_int_base<W, false> Base;
  using Base::Base;
  ap_uint() = default;
  ap_uint(const Base& value) : Base(value) {}
};

namespace ap_detail {

constexpr int larger(int a, int b) { return a > b ? a : b; }
constexpr int smaller(int a, int b) { return a < b ? a : b; }

// What an operand is: Value is its ap_int_base; kAp tells ap types from native integers.
template <typename T, typename Enable = void>
struct Operand {
  static constexpr bool kValid = false;
  static constexpr bool kAp = false;
};
template <typename T>
struct Operand<
    T, typename std::enable_if<std::is_integral<T>::value || std::is_enum<T>::value>::type> {
  static constexpr bool kValid = true;
  static constexpr bool kAp = false;
  typedef ap_int_base<std::is_same<T, bool>::value ? 1 : static_cast<int>(sizeof(T)) * 8,
                      (T(-1) < T(0)) && !std::is_same<T, bool>::value>
      Value;
};
template <int W, bool S>
std::true_type is_ap_int(const ap_int_base<W, S>*);
std::false_type is_ap_int(const void*);
template <typename T>
struct Operand<
    T, typename std::enable_if<decltype(is_ap_int(static_cast<T*>(nullptr)))::value>::type> {
  static constexpr bool kValid = true;
  static constexpr bool kAp = true;
  typedef ap_int_base<T::width, T::is_signed> Value;
};
template <int W, bool S>
struct Operand<ap_range_ref<W, S>> {
  static constexpr bool kValid = true;
  static constexpr bool kAp = true;
  typedef ap_int_base<W, false> Value;
};
template <int W, bool S>
struct Operand<ap_bit_ref<W, S>> {
  static constexpr bool kValid = true;
  static constexpr bool kAp = true;
  typedef ap_int_base<1, false> Value;
};

template <typename A, typename B>
struct BothOperands {
  static constexpr bool kEnabled =
      Operand<A>::kValid && Operand<B>::kValid && (Operand<A>::kAp || Operand<B>::kAp);
};

// Types of results; A and B are ap_int_base.
template <typename A, typename B>
struct Results {
  static constexpr bool kSigned = A::is_signed || B::is_signed;
  static constexpr int kLeft = A::width + (B::is_signed && !A::is_signed ? 1 : 0);
  static constexpr int kRight = B::width + (A::is_signed && !B::is_signed ? 1 : 0);
  static constexpr int kCommon = larger(kLeft, kRight);
  typedef ap_int_base<kCommon + 1, kSigned> Sum;
  typedef ap_int_base<kCommon + 1, true> Difference;
  typedef ap_int_base<A::width + B::width, kSigned> Product;
  typedef ap_int_base<A::width + (B::is_signed ? 1 : 0), kSigned> Quotient;
  typedef ap_int_base<smaller(A::width, B::width + (!B::is_signed && A::is_signed ? 1 : 0)),
                      A::is_signed>
      Remainder;
  typedef ap_int_base<kCommon, kSigned> Logic;
};

template <int N, typename A>
struct Extended {  // N limbs of an operand
  Limb limbs[N];
  explicit Extended(const A& a) { a.limbs(limbs, N); }
};

template <typename A, typename B>
typename Results<A, B>::Sum sum(const A& a, const B& b) {
  typedef typename Results<A, B>::Sum R;
  Extended<R::kLimbs, A> x(a);
  Extended<R::kLimbs, B> y(b);
  ap_detail::add(x.limbs, y.limbs, 0, R::kLimbs, x.limbs);
  return R::from_limbs(x.limbs);
}

template <typename A, typename B>
typename Results<A, B>::Difference difference(const A& a, const B& b) {
  typedef typename Results<A, B>::Difference R;
  Extended<R::kLimbs, A> x(a);
  Extended<R::kLimbs, B> y(b);
  Limb result[R::kLimbs];
  ap_detail::subtract(x.limbs, y.limbs, R::kLimbs, result);
  return R::from_limbs(result);
}

template <typename A, typename B>
typename Results<A, B>::Product product(const A& a, const B& b) {
  typedef typename Results<A, B>::Product R;
  Extended<R::kLimbs, A> x(a);
  Extended<R::kLimbs, B> y(b);
  Limb result[R::kLimbs];
  ap_detail::multiply(x.limbs, y.limbs, R::kLimbs, result);
  return R::from_limbs(result);
}

// Quotient cut towards zero, remainder with the dividend's sign.
template <typename A, typename B, typename Q, typename M>
void divide(const A& a, const B& b, Q* quotient, M* remainder) {
  constexpr int kLimbs = limb_count(larger(A::width, B::width) + 1);
  Extended<kLimbs, A> x(a);
  Extended<kLimbs, B> y(b);
  if (is_zero(y.limbs, kLimbs)) throw std::domain_error("ap_int: division by zero");
  const bool a_negative = a.sign(), b_negative = b.sign();
  if (a_negative) negate(x.limbs, kLimbs);
  if (b_negative) negate(y.limbs, kLimbs);
  Limb q[kLimbs], m[kLimbs];
  divide(x.limbs, y.limbs, kLimbs, q, m);
  if (a_negative != b_negative) negate(q, kLimbs);
  if (a_negative) negate(m, kLimbs);
  *quotient = Q::from_limbs(q);
  *remainder = M::from_limbs(m);
}

template <typename A, typename B>
int compare(const A& a, const B& b) {
  constexpr int kLimbs = limb_count(Results<A, B>::kCommon);
  if (a.sign() != b.sign()) return a.sign() ? -1 : 1;
  Extended<kLimbs, A> x(a);
  Extended<kLimbs, B> y(b);
  return ap_detail::compare(x.limbs, y.limbs, kLimbs);
}

template <typename A, typename B, typename Op>
typename Results<A, B>::Logic bitwise(const A& a, const B& b, const Op& op) {
  typedef typename Results<A, B>::Logic R;
  Limb result[R::kLimbs];
  for (int i = 0; i < R::kLimbs; ++i) result[i] = op(a.limb(i), b.limb(i));
  return R::from_limbs(result);
}

template <typename T>
typename Operand<T>::Value value_of(const T& operand) {
  return typename Operand<T>::Value(operand);
}

template <typename T>
int length_of(const T& operand) {
  return operand.length();
}

template <typename A, typename B>
ap_int_base<A::width + B::width, false> join(const A& high, const B& low, int low_length) {
  typedef ap_int_base<A::width + B::width, false> R;
  const R upper = R(ap_int_base<A::width, false>(high)).shifted_left(low_length);
  const R lower = R(ap_int_base<B::width, false>(low));
  return bitwise(upper, lower, [](Limb a, Limb b) { return a | b; });
}

// (a, b) as a number, and as a place to assign to.
template <typename A, typename B>
class ConcatRef {
 public:
  typedef typename Operand<A>::Value High;
  typedef typename Operand<B>::Value Low;
  typedef ap_int_base<High::width + Low::width, false> Value;

  ConcatRef(A& high, B& low) : high_(high), low_(low) {}
  Value get() const { return join(value_of(high_), value_of(low_), length_of(low_)); }
  int length() const { return length_of(high_) + length_of(low_); }
  template <typename T>
  ConcatRef& operator=(const T& value) {
    const Value whole(value_of(value));
    low_ = ap_int_base<Low::width, false>(whole);
    high_ = ap_int_base<High::width, false>(whole.shifted_right(length_of(low_)));
    return *this;
  }
  ConcatRef& operator=(const ConcatRef& other) { return *this = other.get(); }
  operator unsigned long long() const { return get().to_uint64(); }

 private:
  A& high_;
  B& low_;
};

template <typename A, typename B>
struct Operand<ConcatRef<A, B>> {
  static constexpr bool kValid = true;
  static constexpr bool kAp = true;
  typedef typename ConcatRef<A, B>::Value Value;
};
template <typename A, typename B>
typename ConcatRef<A, B>::Value value_of(const ConcatRef<A, B>& operand) {
  return operand.get();
}

}  // namespace ap_detail

#define TANDEM_AP_ENABLE \
  typename std::enable_if<ap_detail::BothOperands<A, B>::kEnabled, int>::type = 0

#define TANDEM_AP_ARITHMETIC(op, function)                                      \
  template <typename A, typename B, TANDEM_AP_ENABLE>                           \
  auto operator op(const A& a, const B& b) {                                    \
    return ap_detail::function(ap_detail::value_of(a), ap_detail::value_of(b)); \
  }
TANDEM_AP_ARITHMETIC(+, sum)
TANDEM_AP_ARITHMETIC(-, difference)
TANDEM_AP_ARITHMETIC(*, product)
#undef TANDEM_AP_ARITHMETIC

template <typename A, typename B, TANDEM_AP_ENABLE>
auto operator/(const A& a, const B& b) {
  const auto x = ap_detail::value_of(a);
  const auto y = ap_detail::value_of(b);
  typedef ap_detail::Results<std::decay_t<decltype(x)>, std::decay_t<decltype(y)>> R;
  typename R::Quotient quotient;
  typename R::Remainder remainder;
  ap_detail::divide(x, y, &quotient, &remainder);
  return quotient;
}

template <typename A, typename B, TANDEM_AP_ENABLE>
auto operator%(const A& a, const B& b) {
  const auto x = ap_detail::value_of(a);
  const auto y = ap_detail::value_of(b);
  typedef ap_detail::Results<std::decay_t<decltype(x)>, std::decay_t<decltype(y)>> R;
  typename R::Quotient quotient;
  typename R::Remainder remainder;
  ap_detail::divide(x, y, &quotient, &remainder);
  return remainder;
}

#define TANDEM_AP_BITWISE(op)                                                               \
  template <typename A, typename B, TANDEM_AP_ENABLE>                                       \
  auto operator op(const A& a, const B& b) {                                                \
    return ap_detail::bitwise(ap_detail::value_of(a), ap_detail::value_of(b),               \
                              [](ap_detail::Limb x, ap_detail::Limb y) { return x op y; }); \
  }
TANDEM_AP_BITWISE(&)
TANDEM_AP_BITWISE(|)
TANDEM_AP_BITWISE(^)
#undef TANDEM_AP_BITWISE

#define TANDEM_AP_COMPARE(op)                                                       \
  template <typename A, typename B, TANDEM_AP_ENABLE>                               \
  bool operator op(const A& a, const B& b) {                                        \
    return ap_detail::compare(ap_detail::value_of(a), ap_detail::value_of(b)) op 0; \
  }
TANDEM_AP_COMPARE(==)
TANDEM_AP_COMPARE(!=)
TANDEM_AP_COMPARE(<)
TANDEM_AP_COMPARE(<=)
TANDEM_AP_COMPARE(>)
TANDEM_AP_COMPARE(>=)
#undef TANDEM_AP_COMPARE

// Shifts of ap numbers; a native left operand uses C++'s own.
template <typename A, typename B, TANDEM_AP_ENABLE,
          typename std::enable_if<ap_detail::Operand<A>::kAp, int>::type = 0>
auto operator<<(const A& a, const B& by) {
  return ap_detail::value_of(a).shifted_left(static_cast<int>(by));
}
template <typename A, typename B, TANDEM_AP_ENABLE,
          typename std::enable_if<ap_detail::Operand<A>::kAp, int>::type = 0>
auto operator>>(const A& a, const B& by) {
  return ap_detail::value_of(a).shifted_right(static_cast<int>(by));
}

#define TANDEM_AP_ASSIGN(op)                                                    \
  template <typename A, typename B, TANDEM_AP_ENABLE,                           \
            typename std::enable_if<ap_detail::Operand<A>::kAp, int>::type = 0> \
  A& operator op##=(A& a, const B& b) {                                         \
    a = a op b;                                                                 \
    return a;                                                                   \
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

template <int W, bool S>
template <typename T>
ap_range_ref<W, S>& ap_range_ref<W, S>::operator=(const T& value) {
  put(ap_detail::value_of(value));
  return *this;
}

// Concatenation, by the comma operator and by name.
template <typename A, typename B,
          typename std::enable_if<ap_detail::Operand<std::remove_const_t<A>>::kAp &&
                                      ap_detail::Operand<std::remove_const_t<B>>::kAp,
                                  int>::type = 0>
ap_detail::ConcatRef<A, B> operator,(A& a, B& b) {
  return ap_detail::ConcatRef<A, B>(a, b);
}

template <typename A, typename B,
          typename std::enable_if<ap_detail::Operand<A>::kAp && ap_detail::Operand<B>::kAp,
                                  int>::type = 0>
auto operator,(const A& a, const B& b) {
  return ap_detail::join(ap_detail::value_of(a), ap_detail::value_of(b), ap_detail::length_of(b));
}
template <int W, bool S>
template <int W2, bool S2>
ap_int_base<W + W2, false> ap_int_base<W, S>::concat(const ap_int_base<W2, S2>& low) const {
  return ap_detail::join(*this, low, W2);
}

template <int W, bool S>
std::ostream& operator<<(std::ostream& out, const ap_int_base<W, S>& value) {
  const auto base = out.flags() & std::ios_base::basefield;
  if (base == std::ios_base::hex || base == std::ios_base::oct) {
    std::string text = value.to_string(base == std::ios_base::hex ? 16 : 8).substr(2);
    const std::size_t first = text.find_first_not_of('0');
    return out << (first == std::string::npos ? "0" : text.substr(first));
  }
  return out << value.to_string(10, S);
}
template <int W, bool S>
std::ostream& operator<<(std::ostream& out, const ap_range_ref<W, S>& range) {
  return out << range.get();
}
template <int W, bool S>
std::ostream& operator<<(std::ostream& out, const ap_bit_ref<W, S>& bit) {
  return out << static_cast<bool>(bit);
}
template <int W, bool S>
std::istream& operator>>(std::istream& in, ap_int_base<W, S>& value) {
  std::string text;
  if (in >> text) value = ap_int_base<W, S>(text.c_str());
  return in;
}
