// SPDX-License-Identifier: Apache-2.0
//
// hls::vector<T, N> for software emulation: N lanes that move and compute together, for wide kernel
// ports.
//
// Lanes are stored in order, lane 0 at the lowest address, without padding. The alignment is the
// greatest power of two that divides the size, as documented: 3 bytes are aligned to 1, 12 to 4.
// Operators work lane by lane; comparisons are lexicographic; the reduce_* methods fold all lanes
// from lane 0 up. Source: Vitis HLS user guide (UG1399), "Vector Data Types". C++11.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>

#include "tandem_macros_begin.h"

namespace hls {
namespace detail {

// The greatest power of two that divides the size, which is never less than what T needs.
constexpr std::size_t vector_alignment(std::size_t bytes) { return bytes & (~bytes + 1); }

}  // namespace detail

template <typename T, std::size_t N>
class alignas(detail::vector_alignment(sizeof(T) * N)) vector {
  static_assert(N > 0, "hls::vector needs at least one lane");

 public:
  using value_type = T;

  vector() = default;
  vector(const T& value) {  // every lane; implicit, as documented
    for (std::size_t i = 0; i < N; ++i) lanes_[i] = value;
  }
  vector(std::initializer_list<T> values) {
    if (values.size() != N) throw std::invalid_argument("hls::vector: wrong number of values");
    std::size_t i = 0;
    for (const T& value : values) lanes_[i++] = value;
  }

  static constexpr std::size_t size() { return N; }
  T& operator[](std::size_t lane) { return lanes_[lane]; }
  const T& operator[](std::size_t lane) const { return lanes_[lane]; }
  T* begin() { return lanes_; }
  T* end() { return lanes_ + N; }
  const T* begin() const { return lanes_; }
  const T* end() const { return lanes_ + N; }

#define TANDEM_HLS_VECTOR_OPERATOR(op)                                 \
  vector& operator op##=(const vector& other) {                        \
    for (std::size_t i = 0; i < N; ++i) lanes_[i] op## = other[i];     \
    return *this;                                                      \
  }                                                                    \
  friend vector operator op(const vector& left, const vector& right) { \
    vector result = left;                                              \
    result op## = right;                                               \
    return result;                                                     \
  }
  TANDEM_HLS_VECTOR_OPERATOR(+)
  TANDEM_HLS_VECTOR_OPERATOR(-)
  TANDEM_HLS_VECTOR_OPERATOR(*)
  TANDEM_HLS_VECTOR_OPERATOR(/)
  TANDEM_HLS_VECTOR_OPERATOR(%)
  TANDEM_HLS_VECTOR_OPERATOR(&)
  TANDEM_HLS_VECTOR_OPERATOR(|)
  TANDEM_HLS_VECTOR_OPERATOR(^)
  TANDEM_HLS_VECTOR_OPERATOR(<<)
  TANDEM_HLS_VECTOR_OPERATOR(>>)
#undef TANDEM_HLS_VECTOR_OPERATOR

  vector& operator++() { return *this += vector(T(1)); }
  vector& operator--() { return *this -= vector(T(1)); }
  vector operator++(int) {
    vector before = *this;
    ++*this;
    return before;
  }
  vector operator--(int) {
    vector before = *this;
    --*this;
    return before;
  }
  vector operator-() const {
    vector result;
    for (std::size_t i = 0; i < N; ++i) result[i] = -lanes_[i];
    return result;
  }
  vector operator~() const {
    vector result;
    for (std::size_t i = 0; i < N; ++i) result[i] = ~lanes_[i];
    return result;
  }

  friend bool operator==(const vector& left, const vector& right) {
    return left.compare(right) == 0;
  }
  friend bool operator!=(const vector& left, const vector& right) { return !(left == right); }
  friend bool operator<(const vector& left, const vector& right) { return left.compare(right) < 0; }
  friend bool operator>(const vector& left, const vector& right) { return right < left; }
  friend bool operator<=(const vector& left, const vector& right) { return !(right < left); }
  friend bool operator>=(const vector& left, const vector& right) { return !(left < right); }

  T reduce_add() const {
    T result = lanes_[0];
    for (std::size_t i = 1; i < N; ++i) result += lanes_[i];
    return result;
  }
  T reduce_mult() const {
    T result = lanes_[0];
    for (std::size_t i = 1; i < N; ++i) result *= lanes_[i];
    return result;
  }
  T reduce_and() const {
    T result = lanes_[0];
    for (std::size_t i = 1; i < N; ++i) result &= lanes_[i];
    return result;
  }
  T reduce_or() const {
    T result = lanes_[0];
    for (std::size_t i = 1; i < N; ++i) result |= lanes_[i];
    return result;
  }
  T reduce_xor() const {
    T result = lanes_[0];
    for (std::size_t i = 1; i < N; ++i) result ^= lanes_[i];
    return result;
  }

 private:
  int compare(const vector& other) const {
    for (std::size_t i = 0; i < N; ++i) {
      if (!(lanes_[i] == other[i])) return lanes_[i] < other[i] ? -1 : 1;
    }
    return 0;
  }

  T lanes_[N];
};

}  // namespace hls

#include "tandem_macros_end.h"
