// SPDX-License-Identifier: Apache-2.0
//
// CUDA's intrinsics on packed bytes, cache hints and fences, as far as the kernels name them. Part
// of simt.h.
#pragma once

#include <cstdint>

// c + the sum of four products of signed bytes.
inline int __dp4a(int a, int b, int c) {
  std::uint32_t sum = static_cast<std::uint32_t>(c);
  for (int i = 0; i < 4; ++i) {
    const int x = static_cast<std::int8_t>(static_cast<std::uint32_t>(a) >> (8 * i));
    const int y = static_cast<std::int8_t>(static_cast<std::uint32_t>(b) >> (8 * i));
    sum += static_cast<std::uint32_t>(x * y);
  }
  return static_cast<int>(sum);
}

// Byte i of the result is byte `selector nibble i` of (x, y); nibbles of 8 and more are not used.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = x | static_cast<std::uint64_t>(y) << 32;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned from = (selector >> (4 * i)) & 7u;
    result |= static_cast<unsigned>((bytes >> (8 * from)) & 0xffu) << (8 * i);
  }
  return result;
}

template <typename T>
T __ldcs(const T* from) {
  return *from;
}
template <typename T>
T __ldcg(const T* from) {
  return *from;
}
inline void __threadfence() {}
