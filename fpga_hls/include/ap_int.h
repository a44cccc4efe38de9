// SPDX-License-Identifier: Apache-2.0
//
// ap_int<W> and ap_uint<W>: integers of any width, exact to the bit.
//
// ap_int_base.h has the number and its methods, ap_int_ops.h the operators, ap_int_ref.h parts of
// numbers. Streams print the number in the stream's radix, without a prefix, and read what
// ap_int_text.h reads. AP_INT_MAX_W is accepted and has no effect. Source: Vitis HLS user guide
// (UG1399), "Arbitrary Precision Integer Types". C++11.
#pragma once

// Headers that kernels expect to be included with this one.
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>

#include "ap_int_ops.h"
#include "hls_half.h"

#include "tandem_macros_begin.h"

#ifndef AP_INT_MAX_W
#define AP_INT_MAX_W 1024
#endif

typedef long long ap_slong;
typedef unsigned long long ap_ulong;

template <int W>
class ap_int : public ap_int_base<W, true> {
 public:
  typedef ap_int_base<W, true> Base;
  using Base::Base;
  ap_int() = default;
  template <int W2>
  ap_int(const volatile ap_int<W2>& other) : Base(other) {}
  template <typename T, ap_detail::IfClass<T> = 0>
  ap_int& operator=(const T& value) {
    return *this = ap_int(value);
  }
  template <typename T, ap_detail::IfScalar<T> = 0>
  ap_int& operator=(T value) {
    return *this = ap_int(value);
  }
  template <typename T, ap_detail::IfClass<T> = 0>
  void operator=(const T& value) volatile {
    const_cast<ap_int&>(*this) = ap_int(value);
  }
  template <typename T, ap_detail::IfScalar<T> = 0>
  void operator=(T value) volatile {
    const_cast<ap_int&>(*this) = ap_int(value);
  }
};

template <int W>
class ap_uint : public ap_int_base<W, false> {
 public:
  typedef ap_int_base<W, false> Base;
  using Base::Base;
  ap_uint() = default;
  template <int W2>
  ap_uint(const volatile ap_uint<W2>& other) : Base(other) {}
  template <typename T, ap_detail::IfClass<T> = 0>
  ap_uint& operator=(const T& value) {
    return *this = ap_uint(value);
  }
  template <typename T, ap_detail::IfScalar<T> = 0>
  ap_uint& operator=(T value) {
    return *this = ap_uint(value);
  }
  template <typename T, ap_detail::IfClass<T> = 0>
  void operator=(const T& value) volatile {
    const_cast<ap_uint&>(*this) = ap_uint(value);
  }
  template <typename T, ap_detail::IfScalar<T> = 0>
  void operator=(T value) volatile {
    const_cast<ap_uint&>(*this) = ap_uint(value);
  }
};

namespace ap_detail {

template <typename D>
std::ostream& operator<<(std::ostream& out, const Number<D>& number) {
  const auto& value = number.self().value();
  const auto base = out.flags() & std::ios_base::basefield;
  if (base == std::ios_base::hex || base == std::ios_base::oct) {
    const std::string text = value.to_string(base == std::ios_base::hex ? 16 : 8).substr(2);
    const std::size_t first = text.find_first_not_of('0');
    return out << (first == std::string::npos ? "0" : text.substr(first));
  }
  return out << value.to_string(10);
}
template <int W, bool S>
std::istream& operator>>(std::istream& in, ap_int_base<W, S>& value) {
  std::string text;
  if (in >> text) {
    const auto base = in.flags() & std::ios_base::basefield;
    const int radix = base == std::ios_base::hex ? 16 : (base == std::ios_base::oct ? 8 : 10);
    value = ap_int_base<W, S>(text.c_str(), static_cast<signed char>(radix));
  }
  return in;
}
template <int W, bool S>
std::istream& operator>>(std::istream& in, ap_range_ref<W, S>&& range) {
  ap_int_base<W, false> value;
  in >> value;
  range = value;
  return in;
}

template <int W, bool S>
struct Limits {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = S;
  static constexpr bool is_integer = true;
  static constexpr bool is_exact = true;
  static constexpr bool has_infinity = false;
  static constexpr bool has_quiet_NaN = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = true;
  static constexpr int radix = 2;
  static constexpr int digits = W - (S ? 1 : 0);
  static constexpr int digits10 = static_cast<int>(digits * 30103LL / 100000);
  typedef typename std::conditional<S, ap_int<W>, ap_uint<W>>::type Int;
  static Int max() {
    Int value(0);
    for (int at = 0; at < digits; ++at) value.set(at);
    return value;
  }
  static Int min() { return ~max(); }
  static Int lowest() { return min(); }
};

}  // namespace ap_detail

namespace std {

template <int W>
struct numeric_limits<ap_int<W>> : ap_detail::Limits<W, true> {};
template <int W>
struct numeric_limits<ap_uint<W>> : ap_detail::Limits<W, false> {};

}  // namespace std

#include "tandem_macros_end.h"

// Kernels expect the fixed-point numbers with this header, too.
#include "ap_fixed.h"
