// SPDX-License-Identifier: Apache-2.0
//
// Replaces gpu_kernels/common/wgmma.cuh in the SIMT build: products are those of simt/warpgroup.h.
// Registers are not counted.
//
// Sums are added in the order of the columns of a, rounded to nearest.
#pragma once

#include <cstdint>

#include "common/mma.cuh"
#include "gpu_kernels/simt/warpgroup.h"

namespace tandem::gpu_kernels {

inline std::uint32_t shared_address(const void* at) { return simt::shared_address(at); }

enum class Major { kDepth, kColumns };
using SharedMatrix = std::uint64_t;

inline constexpr int kSharedRowBytes = 128;

constexpr int swizzled_offset(int row, int column) {
  return row * kSharedRowBytes + ((column / 8) ^ (row % 8)) * 16 + column % 8 * 2;
}

inline SharedMatrix shared_matrix(const void* first_row, unsigned columns_apart = 16) {
  constexpr SharedMatrix kEightRows = 8 * kSharedRowBytes / 16, kSwizzle128 = 1;
  const std::uint32_t address = shared_address(first_row);
  if (address % 1024 != 0) simt::fail_product("a matrix does not begin at a multiple of 1,024");
  return address >> 4 | static_cast<SharedMatrix>(columns_apart >> 4) << 16 | kEightRows << 32 |
         kSwizzle128 << 62;
}
inline SharedMatrix advance(SharedMatrix matrix, int bytes) {
  return matrix + static_cast<unsigned>(bytes) / 16;
}

inline void open_products() { simt::open_products(); }
inline void commit_products() { simt::commit_products(); }
template <int kPending, int... kSizes>
void wait_products(float (&... ready)[kSizes]) {
  simt::wait_products(kPending);
  (simt::expect_done(ready), ...);
}

inline void publish_stores() { simt::publish_stores(); }

template <int kRegisters>
void take_registers() {
  static_assert(kRegisters % 8 == 0 && kRegisters >= 24 && kRegisters <= 240);
}
template <int kRegisters>
void give_registers() {
  static_assert(kRegisters % 8 == 0 && kRegisters >= 24 && kRegisters <= 240);
}

template <typename T, Major kMajor, int kSize>
void multiply_shared(float (&d)[kSize], SharedMatrix a, SharedMatrix b, bool adds) {
  simt::issue_product({T::widen, kSize * 2, kMajor == Major::kColumns, false, adds, a, b}, d,
                      nullptr);
}

template <typename T, Major kMajor, int kSize>
void multiply_registers(float (&d)[kSize], const std::uint32_t (&a)[4], SharedMatrix b) {
  simt::issue_product({T::widen, kSize * 2, kMajor == Major::kColumns, true, true, 0, b}, d, a);
}

}  // namespace tandem::gpu_kernels
