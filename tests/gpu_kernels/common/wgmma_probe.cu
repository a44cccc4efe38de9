// SPDX-License-Identifier: Apache-2.0
//
// Operands are put into shared memory value by value, from the header's formula of the swizzle.
#include "gpu_kernels/common/wgmma_probe.h"

#include "common/launch.cuh"
#include "common/wgmma.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = 256, kGroupRows = 64, kDepth = 64, kStep = 16;
constexpr int kGroupBytes = kGroupRows * kSharedRowBytes;  // of 64 rows of 64 values
constexpr unsigned kSharedBytes = 1024 + 2 * kGroupBytes + 2 * kGroupBytes;

__device__ void put(unsigned char* matrix, int row, int column, std::uint16_t value) {
  *reinterpret_cast<std::uint16_t*>(matrix + swizzled_offset(row, column)) = value;
}

// b as columns of 64 values, or as groups of 64 columns, each of 64 rows.
template <int kColumns, Major kMajor>
__device__ void put_operands(const std::uint16_t* a, const std::uint16_t* b, unsigned char* a_to,
                             unsigned char* b_to) {
  for (int at = static_cast<int>(threadIdx.x); at < 2 * kGroupRows * kDepth; at += kThreads) {
    put(a_to, at / kDepth, at % kDepth, a[at]);
  }
  for (int at = static_cast<int>(threadIdx.x); at < kDepth * kColumns; at += kThreads) {
    const int row = at / kColumns, column = at % kColumns;
    if (kMajor == Major::kDepth) {
      put(b_to, column, row, b[at]);
    } else {
      put(b_to + column / 64 * kGroupBytes, row, column % 64, b[at]);
    }
  }
}

// Words of a as fragments, from memory.
__device__ void load_fragment(const std::uint16_t* a, int row, int column,
                              std::uint32_t (&words)[4]) {
  for (int i = 0; i < 4; ++i) {
    const std::uint16_t* pair = a + (row + i % 2 * 8) * kDepth + column + i / 2 * 8;
    words[i] = pair[0] | static_cast<std::uint32_t>(pair[1]) << 16;
  }
}

template <typename T, int kColumns, Major kMajor, bool kRegisters>
__global__ __launch_bounds__(kThreads, 1) void group_product(const std::uint16_t* a,
                                                             const std::uint16_t* b, float* c,
                                                             bool adds) {
  wait_for_previous();
  unsigned char* a_at = dynamic_shared();
  a_at += (1024 - shared_address(a_at) % 1024) % 1024;
  unsigned char* b_at = a_at + 2 * kGroupBytes;
  put_operands<kColumns, kMajor>(a, b, a_at, b_at);
  publish_stores();
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x / 128u), lane = static_cast<int>(threadIdx.x % 32);
  const int row = group * kGroupRows + static_cast<int>(threadIdx.x % 128u / 32u) * 16 + lane / 4;
  const auto place = [&](int i) {
    return (row + i % 4 / 2 * 8) * kColumns + i / 4 * 8 + lane % 4 * 2 + i % 2;
  };
  float d[kColumns / 2];
  std::uint32_t words[kDepth / kStep][4];
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) d[i] = c[place(i)];
#pragma unroll
  for (int step = 0; step < kDepth / kStep; ++step) {
    load_fragment(a, row, step * kStep + lane % 4 * 2, words[step]);
  }
  open_products();
#pragma unroll
  for (int step = 0; step < kDepth / kStep; ++step) {
    const SharedMatrix b_step =
        kMajor == Major::kDepth
            ? advance(shared_matrix(b_at), step * kStep * 2)
            : advance(shared_matrix(b_at, kGroupBytes), step * kStep * kSharedRowBytes);
    if constexpr (kRegisters) {
      multiply_registers<T, kMajor>(d, words[step], b_step);
    } else {
      const SharedMatrix a_step =
          advance(shared_matrix(a_at + group * kGroupBytes), step * kStep * 2);
      multiply_shared<T, kMajor>(d, a_step, b_step, adds || step > 0);
    }
  }
  commit_products();
  wait_products<0>(d);
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) c[place(i)] = d[i];
}

template <typename T, Major kMajor>
cudaError_t start(const GroupProbe& probe, const std::uint16_t* a, const std::uint16_t* b,
                  float* c) {
  const auto with = [&](auto kernel) {
    return launch_shared(nullptr, 1, kThreads, kSharedBytes, kernel, a, b, c, probe.adds);
  };
  if (!probe.a_in_registers) return with(group_product<T, 128, kMajor, false>);
  return probe.columns == 64 ? with(group_product<T, 64, kMajor, true>)
                             : with(group_product<T, 128, kMajor, true>);
}

}  // namespace

cudaError_t probe_group_product(const GroupProbe& probe, const std::uint16_t* a,
                                const std::uint16_t* b, float* c) {
  if (probe.type == ProbeType::kHalf) {
    return probe.b_by_columns ? start<Half, Major::kColumns>(probe, a, b, c)
                              : start<Half, Major::kDepth>(probe, a, b, c);
  }
  return probe.b_by_columns ? start<Bfloat, Major::kColumns>(probe, a, b, c)
                            : start<Bfloat, Major::kDepth>(probe, a, b, c);
}

}  // namespace tandem::gpu_kernels
