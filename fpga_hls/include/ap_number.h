// SPDX-License-Identifier: Apache-2.0
//
// The common base of HLS' number types: forward declarations, the bases by which operators
// recognise them, and the native types that operators accept with them.
//
// Number<D>: D is an integer of a stated width or refers to one (ap_int_base, ap_range_ref,
// ap_concat_ref); it has value(), low64() and low128(). FixedNumber<D>: the same for ap_fixed_base.
// Both bases are empty and cost nothing. C++11.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tandem_macros_begin.h"

template <int W, bool S>
class ap_int_base;
template <int W, bool S>
class ap_bit_ref;
template <int W, bool S>
class ap_range_ref;
template <int W>
class ap_int;
template <int W>
class ap_uint;
class half;

namespace ap_detail {

typedef std::uint64_t Limb;
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

template <typename D>
struct Number {
  const D& self() const { return static_cast<const D&>(*this); }
  D& self() { return static_cast<D&>(*this); }
};
template <typename D>
struct FixedNumber {
  const D& self() const { return static_cast<const D&>(*this); }
  D& self() { return static_cast<D&>(*this); }
};

// The base of a reference to one bit. Operators recognise the reference by it.
struct Bit {};

// The width and sign of a native integer; width 0 for any other type.
template <typename T, bool IsInt = std::is_integral<T>::value || std::is_enum<T>::value>
struct NativeInt {
  static constexpr int kWidth = 0;
};
template <typename T>
struct NativeInt<T, true> {
  static constexpr int kWidth = static_cast<int>(sizeof(T)) * 8;
  static constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(0);
};
template <>
struct NativeInt<bool, true> {
  static constexpr int kWidth = 1;
  static constexpr bool kSigned = false;
};
// 128-bit integers. std::is_integral accepts them with -std=gnu++14 and rejects them with
// -std=c++14, so both values of IsInt are specialised.
template <bool Signed>
struct PairInt {
  static constexpr int kWidth = 128;
  static constexpr bool kSigned = Signed;
};
template <>
struct NativeInt<Int128, true> : PairInt<true> {};
template <>
struct NativeInt<Int128, false> : PairInt<true> {};
template <>
struct NativeInt<Uint128, true> : PairInt<false> {};
template <>
struct NativeInt<Uint128, false> : PairInt<false> {};

// The same for native integers and for references to one bit of an ap type, which count as bool.
template <typename T>
struct IntOperand : NativeInt<T> {};
template <int W, bool S>
struct IntOperand<ap_bit_ref<W, S>> : NativeInt<bool> {};
template <typename T>
using IfInt = typename std::enable_if<(IntOperand<T>::kWidth > 0), int>::type;

template <typename T>
using IfFloat =
    typename std::enable_if<std::is_floating_point<T>::value || std::is_same<T, half>::value,
                            int>::type;

// Native numbers are operands by value, because a reference would need the definition of a static
// constant; all other types are operands by reference.
template <typename T>
struct IsScalar {
  static constexpr bool value = std::is_arithmetic<T>::value || std::is_enum<T>::value;
};
template <typename T>
using IfScalar = typename std::enable_if<IsScalar<T>::value, int>::type;
template <typename T>
using IfClass = typename std::enable_if<!IsScalar<T>::value, int>::type;

constexpr int larger(int a, int b) { return a > b ? a : b; }
constexpr int smaller(int a, int b) { return a < b ? a : b; }

}  // namespace ap_detail

#include "tandem_macros_end.h"
