// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous matrix products of a warpgroup (wgmma, sm_90a only), and the layout of their
// operands in shared memory.
//
// A warpgroup is four warps, the first a multiple of four. All its 128 threads call every product,
// open_products(), commit_products() and wait_products() together. Order: open_products() before
// the first product, and between any use of the registers of d or a and the next product; then
// products; commit_products() closes a group; wait_products(). Until a wait has named d, neither d,
// a nor the shared memory may be touched. Numerics: as in mma.cuh. Source: PTX ISA, "Asynchronous
// Warpgroup Level Matrix Instructions" (fragments, matrix descriptors, the 128-byte swizzle).
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/mma.cuh"
#include "common/shared_address.cuh"

namespace tandem::gpu_kernels {

// How a and b are stored in shared memory. Rows have 64 values of 16 bits (128 bytes); the first
// row is at a multiple of 1,024; the eight groups of 16 bytes of a row are swizzled
// (swizzled_offset()). kDepth: a row holds one row of a (or column of b), of which a product takes
// 16 values; the next eight rows are 1,024 bytes later, the next 16 values 32 bytes. kColumns (b
// only): a row holds 64 columns of one row of b; the next 64 columns are `columns_apart` bytes
// later, the next 16 rows 2,048.
enum class Major { kDepth, kColumns };
using SharedMatrix = std::uint64_t;

inline constexpr int kSharedRowBytes = 128;

// The offset of a value in bytes from the first row.
__device__ constexpr int swizzled_offset(int row, int column) {
  return row * kSharedRowBytes + ((column / 8) ^ (row % 8)) * 16 + column % 8 * 2;
}

// Returns the descriptor of a matrix. Addresses and distances are in units of 16 bytes, 14 bits
// each, from bits 0, 16 and 32 on; the swizzle is from bit 62 on.
__device__ inline SharedMatrix shared_matrix(const void* first_row, unsigned columns_apart = 16) {
  constexpr SharedMatrix kEightRows = 8 * kSharedRowBytes / 16, kSwizzle128 = 1;
  return (shared_address(first_row) & 0x3ffffu) >> 4 |
         static_cast<SharedMatrix>(columns_apart >> 4) << 16 | kEightRows << 32 | kSwizzle128 << 62;
}
// The matrix that begins `bytes` later.
__device__ inline SharedMatrix advance(SharedMatrix matrix, int bytes) {
  const std::uint32_t low = static_cast<std::uint32_t>(matrix) + static_cast<unsigned>(bytes) / 16;
  return (matrix & ~SharedMatrix{0xffffffffu}) | low;
}

__device__ inline void open_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Stops the compiler from moving any use of the values across this call.
template <int kSize>
__device__ void pin(float (&values)[kSize]) {
#pragma unroll
  for (int i = 0; i < kSize; ++i) asm volatile("" : "+f"(values[i])::"memory");
}
// Returns when all groups but the last kPending are done. `ready` names the accumulators that may
// be used from here on.
template <int kPending, int... kSizes>
__device__ void wait_products(float (&... ready)[kSizes]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
  (pin(ready), ...);
}

// Makes ordinary stores visible to products: the writing threads call it, then a barrier follows.
// Bulk copies need only the wait for their barrier.
__device__ inline void publish_stores() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Sets the number of registers per thread of the calling warpgroup: a multiple of 8 in 24..240. One
// group gives registers first, so that another can take them.
template <int kRegisters>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Names of operands 0 .. 31 and 32 .. 63 in the text of a product, and the accumulators in them.
// The texts for both types and all shapes use these.
#define TANDEM_PLACES_0_TO_31                                                             \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
  "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TANDEM_PLACES_32_TO_63                                                            \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, " \
  "%49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TANDEM_ACCUMULATORS_0_TO_31(d)                                                            \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),    \
      "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),  \
      "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),  \
      "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define TANDEM_ACCUMULATORS_32_TO_63(d)                                                          \
  "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]),     \
      "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), \
      "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), \
      "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), \
      "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])

// d += a b, or d = a b if not `adds`: 64 x 16 by 16 x kColumns in f32, kColumns twice the size of
// d's array. a and b are in shared memory, a is Major::kDepth. Warp w of the group has rows 16 w ..
// 16 w + 15. With g = lane / 4 and t = lane % 4, d[4 n + i] is row g + i / 2 * 8, column 8 n + 2 t
// + i % 2.
#define TANDEM_MULTIPLY_SHARED(types)                                   \
  asm volatile(                                                         \
      "{.reg .pred adds; setp.ne.b32 adds, %66, 0;"                     \
      " wgmma.mma_async.sync.aligned.m64n128k16.f32." types             \
      " "                                                               \
      "{" TANDEM_PLACES_0_TO_31 ", " TANDEM_PLACES_32_TO_63             \
      "}, "                                                             \
      "%64, %65, adds, 1, 1, 0, %67;}"                                  \
      : TANDEM_ACCUMULATORS_0_TO_31(d), TANDEM_ACCUMULATORS_32_TO_63(d) \
      : "l"(a), "l"(b), "r"(adds ? 1 : 0), "n"(kMajor == Major::kColumns ? 1 : 0))
template <typename T, Major kMajor>
__device__ void multiply_shared(float (&d)[64], SharedMatrix a, SharedMatrix b, bool adds) {
  if constexpr (std::is_same_v<T, Half>) {
    TANDEM_MULTIPLY_SHARED("f16.f16");
  } else {
    TANDEM_MULTIPLY_SHARED("bf16.bf16");
  }
}
#undef TANDEM_MULTIPLY_SHARED

// d += a b, a in registers, laid out as in mma.cuh. So d of two neighbouring n, packed pairwise, is
// an a.
#define TANDEM_MULTIPLY_REGISTERS_64(types)                         \
  asm volatile(                                                     \
      "{.reg .pred adds; setp.ne.b32 adds, %37, 0;"                 \
      " wgmma.mma_async.sync.aligned.m64n64k16.f32." types          \
      " "                                                           \
      "{" TANDEM_PLACES_0_TO_31                                     \
      "}, "                                                         \
      "{%32, %33, %34, %35}, %36, adds, 1, 1, %38;}"                \
      : TANDEM_ACCUMULATORS_0_TO_31(d)                              \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(1), \
        "n"(kMajor == Major::kColumns ? 1 : 0))
template <typename T, Major kMajor>
__device__ void multiply_registers(float (&d)[32], const std::uint32_t (&a)[4], SharedMatrix b) {
  if constexpr (std::is_same_v<T, Half>) {
    TANDEM_MULTIPLY_REGISTERS_64("f16.f16");
  } else {
    TANDEM_MULTIPLY_REGISTERS_64("bf16.bf16");
  }
}
#undef TANDEM_MULTIPLY_REGISTERS_64

#define TANDEM_MULTIPLY_REGISTERS_128(types)                            \
  asm volatile(                                                         \
      "{.reg .pred adds; setp.ne.b32 adds, %69, 0;"                     \
      " wgmma.mma_async.sync.aligned.m64n128k16.f32." types             \
      " "                                                               \
      "{" TANDEM_PLACES_0_TO_31 ", " TANDEM_PLACES_32_TO_63             \
      "}, "                                                             \
      "{%64, %65, %66, %67}, %68, adds, 1, 1, %70;}"                    \
      : TANDEM_ACCUMULATORS_0_TO_31(d), TANDEM_ACCUMULATORS_32_TO_63(d) \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(1),     \
        "n"(kMajor == Major::kColumns ? 1 : 0))
template <typename T, Major kMajor>
__device__ void multiply_registers(float (&d)[64], const std::uint32_t (&a)[4], SharedMatrix b) {
  if constexpr (std::is_same_v<T, Half>) {
    TANDEM_MULTIPLY_REGISTERS_128("f16.f16");
  } else {
    TANDEM_MULTIPLY_REGISTERS_128("bf16.bf16");
  }
}
#undef TANDEM_MULTIPLY_REGISTERS_128

#undef TANDEM_PLACES_0_TO_31
#undef TANDEM_PLACES_32_TO_63
#undef TANDEM_ACCUMULATORS_0_TO_31
#undef TANDEM_ACCUMULATORS_32_TO_63

}  // namespace tandem::gpu_kernels
