// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic between integers of any widths into a given result type. The computation uses a 64-bit
// integer, a 128-bit integer or limbs, the smallest that holds the result.
//
// An operand is an ap_int_base or a type with the same access (low64(), low128(), value()). Results
// are exact modulo 2^W of the result type R. Operators choose R as HLS documents (Results below);
// assignments compute in the width of their target. Source: Vitis HLS user guide (UG1399), "Class
// Methods and Operators". C++11.
#pragma once

#include "ap_int_misuse.h"
#include "ap_int_storage.h"

#include "tandem_macros_begin.h"

namespace ap_detail {

// Types of results; A and B are ap_int_base. The result has one more bit if one operand is unsigned
// and the other signed.
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

template <int N>
struct Extended {  // N limbs of an operand
  Limb limbs[N];
  template <typename A>
  explicit Extended(const A& a) {
    a.value().limbs(limbs);
  }
};

template <Kind K>
struct Compute;

struct NativeWord {
  typedef Limb Unsigned;
  typedef std::int64_t Signed;
  template <typename A>
  static Unsigned low(const A& a) {
    return a.low64();
  }
  template <typename R>
  static R make(Unsigned bits) {
    return R::from64(bits);
  }
};

struct NativePair {
  typedef Uint128 Unsigned;
  typedef Int128 Signed;
  template <typename A>
  static Unsigned low(const A& a) {
    return a.low128();
  }
  template <typename R>
  static R make(Unsigned bits) {
    return R::from128(bits);
  }
};

// Computes in one native integer. Unsigned holds the operands, Native converts them.
template <typename Native>
struct NativeCompute {
  typedef typename Native::Unsigned Unsigned;
  typedef typename Native::Signed SignedValue;
  template <typename R, typename A, typename B>
  static R sum(const A& a, const B& b) {
    return Native::template make<R>(Native::low(a) + Native::low(b));
  }
  template <typename R, typename A, typename B>
  static R difference(const A& a, const B& b) {
    return Native::template make<R>(Native::low(a) - Native::low(b));
  }
  template <typename R, typename A, typename B>
  static R product(const A& a, const B& b) {
    return Native::template make<R>(Native::low(a) * Native::low(b));
  }
  template <typename R, typename A, typename B>
  static R conjunction(const A& a, const B& b) {
    return Native::template make<R>(Native::low(a) & Native::low(b));
  }
  template <typename R, typename A, typename B>
  static R disjunction(const A& a, const B& b) {
    return Native::template make<R>(Native::low(a) | Native::low(b));
  }
  template <typename R, typename A, typename B>
  static R exclusion(const A& a, const B& b) {
    return Native::template make<R>(Native::low(a) ^ Native::low(b));
  }
  // Quotient cut towards zero, remainder with the dividend's sign. Both operands and the quotient
  // fit.
  template <bool Signed, typename Q, typename M, typename A, typename B>
  static void divide(const A& a, const B& b, Q* quotient, M* remainder) {
    const Unsigned x = Native::low(a), y = Native::low(b);
    if (y == 0) throw_division();
    if (Signed) {
      const SignedValue p = static_cast<SignedValue>(x), q = static_cast<SignedValue>(y);
      *quotient = Native::template make<Q>(static_cast<Unsigned>(p / q));
      *remainder = Native::template make<M>(static_cast<Unsigned>(p % q));
    } else {
      *quotient = Native::template make<Q>(x / y);
      *remainder = Native::template make<M>(x % y);
    }
  }
  template <bool Signed, typename A, typename B>
  static int compare(const A& a, const B& b) {
    const Unsigned x = Native::low(a), y = Native::low(b);
    const bool less = Signed ? static_cast<SignedValue>(x) < static_cast<SignedValue>(y) : x < y;
    return less ? -1 : (x == y ? 0 : 1);
  }
};

template <>
struct Compute<kWord> : NativeCompute<NativeWord> {};

template <>
struct Compute<kPair> : NativeCompute<NativePair> {};

// Computes with limbs, directly from the operands into the result.
template <>
struct Compute<kWide> {
  template <typename R, typename A, typename B>
  static R sum(const A& a, const B& b) {
    const auto& x = a.value();
    const auto& y = b.value();
    R result;
    Limb* to = result.wide_limbs();
    Uint128 carry = 0;
    for (int i = 0; i < R::kLimbs; ++i) {
      carry += static_cast<Uint128>(x.limb(i)) + y.limb(i);
      to[i] = static_cast<Limb>(carry);
      carry >>= 64;
    }
    return result.cut_top();
  }
  template <typename R, typename A, typename B>
  static R difference(const A& a, const B& b) {
    const auto& x = a.value();
    const auto& y = b.value();
    R result;
    Limb* to = result.wide_limbs();
    Limb borrow = 0;
    for (int i = 0; i < R::kLimbs; ++i) {
      const Uint128 partial = static_cast<Uint128>(x.limb(i)) - y.limb(i) - borrow;
      to[i] = static_cast<Limb>(partial);
      borrow = static_cast<Limb>(partial >> 64) & 1;
    }
    return result.cut_top();
  }
  template <typename R, typename A, typename B>
  static R product(const A& a, const B& b) {
    Extended<R::kLimbs> x(a), y(b);
    Limb result[R::kLimbs];
    ap_detail::multiply(x.limbs, y.limbs, R::kLimbs, result);
    return R::from_limbs(result);
  }
#define TANDEM_AP_LIMBS(name, op)                                       \
  template <typename R, typename A, typename B>                         \
  static R name(const A& a, const B& b) {                               \
    const auto& x = a.value();                                          \
    const auto& y = b.value();                                          \
    R result;                                                           \
    Limb* to = result.wide_limbs();                                     \
    for (int i = 0; i < R::kLimbs; ++i) to[i] = x.limb(i) op y.limb(i); \
    return result.cut_top();                                            \
  }
  TANDEM_AP_LIMBS(conjunction, &)
  TANDEM_AP_LIMBS(disjunction, |)
  TANDEM_AP_LIMBS(exclusion, ^)
#undef TANDEM_AP_LIMBS
  template <bool Signed, typename Q, typename M, typename A, typename B>
  static void divide(const A& a, const B& b, Q* quotient, M* remainder) {
    constexpr int kLimbs = limb_count(larger(A::width, B::width) + 1);
    Extended<kLimbs> x(a), y(b);
    if (is_zero(y.limbs, kLimbs)) throw_division();
    const bool a_negative = a.sign(), b_negative = b.sign();
    if (a_negative) negate(x.limbs, kLimbs);
    if (b_negative) negate(y.limbs, kLimbs);
    Limb q[kLimbs], m[kLimbs];
    ap_detail::divide<kLimbs>(x.limbs, y.limbs, q, m);
    if (a_negative != b_negative) negate(q, kLimbs);
    if (a_negative) negate(m, kLimbs);
    *quotient = take<Q>(q, kLimbs);
    *remainder = take<M>(m, kLimbs);
  }
  template <bool Signed, typename A, typename B>
  static int compare(const A& a, const B& b) {
    constexpr int kLimbs = limb_count(larger(A::width, B::width));
    if (a.sign() != b.sign()) return a.sign() ? -1 : 1;
    Extended<kLimbs> x(a), y(b);
    return ap_detail::compare(x.limbs, y.limbs, kLimbs);
  }

 private:
  // Converts a number of n limbs to an R, which may have more limbs.
  template <typename R>
  static R take(const Limb* limbs, int n) {
    Limb all[R::kLimbs];
    for (int i = 0; i < R::kLimbs; ++i) {
      all[i] = i < n ? limbs[i] : static_cast<Limb>(static_cast<std::int64_t>(limbs[n - 1]) >> 63);
    }
    return R::from_limbs(all);
  }
};

#define TANDEM_AP_COMPUTE(name)                                \
  template <typename R, typename A, typename B>                \
  R name##_as(const A& a, const B& b) {                        \
    return Compute<kind_of(R::width)>::template name<R>(a, b); \
  }
TANDEM_AP_COMPUTE(sum)
TANDEM_AP_COMPUTE(difference)
TANDEM_AP_COMPUTE(product)
TANDEM_AP_COMPUTE(conjunction)
TANDEM_AP_COMPUTE(disjunction)
TANDEM_AP_COMPUTE(exclusion)
#undef TANDEM_AP_COMPUTE

template <typename A, typename B>
int compare(const A& a, const B& b) {
  typedef Results<A, B> R;
  return Compute<kind_of(R::kCommon)>::template compare<R::kSigned>(a, b);
}

// Compares as C does: operands of different signs are first converted to unsigned, unless the
// signed type is wider, or both have less bits than an int. Source: the operators of ap_private in
// the vendor's open headers, and their synthesis with C's own operators.
template <typename A, typename B>
int compare_as_c(const A& a, const B& b) {
  constexpr int kWidth = larger(A::width, B::width);
  constexpr int kSignedWidth = A::is_signed ? A::width : B::width;
  constexpr int kUnsignedWidth = A::is_signed ? B::width : A::width;
  constexpr bool kConverts =
      A::is_signed != B::is_signed && kWidth >= 32 && kUnsignedWidth >= kSignedWidth;
  typedef ap_int_base<kConverts ? kWidth : A::width, kConverts ? false : A::is_signed> Left;
  typedef ap_int_base<kConverts ? kWidth : B::width, kConverts ? false : B::is_signed> Right;
  return compare(Left(a), Right(b));
}

// A signed quotient needs one bit more than its operands: the lowest number divided by -1.
template <typename R, typename A, typename B>
R quotient_as(const A& a, const B& b) {
  typedef Results<A, B> All;
  typename All::Quotient result;
  typename All::Remainder rest;
  Compute<kind_of(All::kCommon + (All::kSigned ? 1 : 0))>::template divide<All::kSigned>(
      a, b, &result, &rest);
  return result;
}
template <typename R, typename A, typename B>
R remainder_as(const A& a, const B& b) {
  typedef Results<A, B> All;
  typename All::Quotient whole;
  typename All::Remainder result;
  Compute<kind_of(All::kCommon + (All::kSigned ? 1 : 0))>::template divide<All::kSigned>(
      a, b, &whole, &result);
  return result;
}

// Converts a native integer or a bit to an operand.
template <typename T>
struct NumberOf {
  typedef ap_int_base<IntOperand<T>::kWidth, IntOperand<T>::kSigned> type;
};
template <typename T>
typename NumberOf<T>::type as_number(T value) {
  return typename NumberOf<T>::type(value);
}

}  // namespace ap_detail

#include "tandem_macros_end.h"
