// SPDX-License-Identifier: Apache-2.0
//
// ap_fixed<W, I, Q, O, N> and ap_ufixed<W, I, Q, O, N>: fixed-point numbers, exact to the bit.
//
// ap_fixed_base.h has the number and its methods, ap_fixed_fit.h quantisation and overflow,
// ap_fixed_ops.h the operators. Streams read and print the value as a double. They print as many
// digits as the value needs, at most the stream's precision; std::fixed adds no zeros. Source:
// Vitis HLS user guide (UG1399), "Arbitrary Precision Fixed-Point Data Types". C++11.
#pragma once

#include <cmath>

#include "ap_fixed_ops.h"
#include "ap_int.h"

#include "tandem_macros_begin.h"

template <int W, int I, ap_q_mode Q = AP_TRN, ap_o_mode O = AP_WRAP, int N = 0>
class ap_fixed : public ap_fixed_base<W, I, true, Q, O, N> {
 public:
  typedef ap_fixed_base<W, I, true, Q, O, N> Base;
  using Base::Base;
  ap_fixed() = default;
};

template <int W, int I, ap_q_mode Q = AP_TRN, ap_o_mode O = AP_WRAP, int N = 0>
class ap_ufixed : public ap_fixed_base<W, I, false, Q, O, N> {
 public:
  typedef ap_fixed_base<W, I, false, Q, O, N> Base;
  using Base::Base;
  ap_ufixed() = default;
};

namespace ap_detail {

// A number halfway between two texts gets the one farther from zero, as in the vendor's simulation.
template <typename D>
std::ostream& operator<<(std::ostream& out, const FixedNumber<D>& number) {
  const std::ios_base::fmtflags flags = out.flags();
  out.unsetf(std::ios_base::floatfield | std::ios_base::showpoint);
  double value = number.self().to_double();
  if (is_halfway(value, static_cast<int>(out.precision()))) {
    value = std::nextafter(value, value * 2);
  }
  out << value;
  out.flags(flags);
  return out;
}
template <int W, int I, bool S, ap_q_mode Q, ap_o_mode O, int N>
std::istream& operator>>(std::istream& in, ap_fixed_base<W, I, S, Q, O, N>& number) {
  double value = 0;
  if (in >> value) number = ap_fixed_base<W, I, S, Q, O, N>(value);
  return in;
}

template <typename Fixed>
struct FixedLimits {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = Fixed::is_signed;
  static constexpr bool is_integer = Fixed::kFraction <= 0;
  static constexpr bool is_exact = true;
  static constexpr bool has_infinity = false;
  static constexpr bool has_quiet_NaN = false;
  static constexpr bool is_bounded = true;
  static constexpr int radix = 2;
  static constexpr int digits = Fixed::width - (Fixed::is_signed ? 1 : 0);
  static Fixed max() {
    Fixed value;
    value.bits() = std::numeric_limits<Int>::max();
    return value;
  }
  static Fixed lowest() {
    Fixed value;
    value.bits() = std::numeric_limits<Int>::min();
    return value;
  }
  // The smallest positive value, as for floating-point types.
  static Fixed min() { return epsilon(); }
  static Fixed epsilon() {
    Fixed value;
    value.bits() = 1;
    return value;
  }

 private:
  typedef
      typename std::conditional<is_signed, ap_int<Fixed::width>, ap_uint<Fixed::width>>::type Int;
};

}  // namespace ap_detail

namespace std {

template <int W, int I, ap_q_mode Q, ap_o_mode O, int N>
struct numeric_limits<ap_fixed<W, I, Q, O, N>> : ap_detail::FixedLimits<ap_fixed<W, I, Q, O, N>> {};
template <int W, int I, ap_q_mode Q, ap_o_mode O, int N>
struct numeric_limits<ap_ufixed<W, I, Q, O, N>> : ap_detail::FixedLimits<ap_ufixed<W, I, Q, O, N>> {
};

}  // namespace std

#include "tandem_macros_end.h"
