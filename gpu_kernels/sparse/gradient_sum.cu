// SPDX-License-Identifier: Apache-2.0
//
// A block takes a tile of 8,192 values, a thread groups of four; one block adds the tiles up.
#include "sparse/gradient_sum.h"

#include <cmath>

#include "common/block_reduce.cuh"
#include "common/launch.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kFour = 4;          // values that a thread reads at once
constexpr int kGroupsAtOnce = 2;  // loads in flight per thread and array
constexpr int kRounds = 4;
constexpr std::uint32_t kTileValues = kThreads * kFour * kGroupsAtOnce * kRounds;
constexpr std::uint32_t kInfinityBits = 0x7f800000u;
constexpr std::uint32_t kSmallestNormalBits = 0x00800000u;

struct Smallest {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

__device__ GradientMeasurement nothing_measured() {
  return {0, 0, 0, 0, 0, 0, kAllFinite, 0, float_of(kInfinityBits)};
}

__device__ void merge(GradientMeasurement& to, const GradientMeasurement& from) {
  to.sum += from.sum;
  to.signed_sum += from.signed_sum;
  to.squares += from.squares;
  to.log_sum += from.log_sum;
  to.count += from.count;
  to.positive += from.positive;
  to.first_non_finite = Smallest{}(to.first_non_finite, from.first_non_finite);
  to.largest = Largest{}(to.largest, from.largest);
  to.smallest = Smallest{}(to.smallest, from.smallest);
}

__device__ GradientMeasurement reduce_lanes(GradientMeasurement own) {
  own.sum = reduce_warp(own.sum, Sum{});
  own.signed_sum = reduce_warp(own.signed_sum, Sum{});
  own.squares = reduce_warp(own.squares, Sum{});
  own.log_sum = reduce_warp(own.log_sum, Sum{});
  own.count = reduce_warp(own.count, Sum{});
  own.positive = reduce_warp(own.positive, Sum{});
  own.first_non_finite = reduce_warp(own.first_non_finite, Smallest{});
  own.largest = reduce_warp(own.largest, Largest{});
  own.smallest = reduce_warp(own.smallest, Smallest{});
  return own;
}

// The first thread gets the measurement of the block; the warps are merged in their order.
__device__ GradientMeasurement reduce_measurement(GradientMeasurement own,
                                                  GradientMeasurement* scratch) {
  own = reduce_lanes(own);
  if ((threadIdx.x & 31u) == 0) scratch[threadIdx.x / 32u] = own;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kThreads / 32; ++warp) merge(own, scratch[warp]);
  }
  return own;
}

// What a thread has measured. Logarithms are the exponents' sum and the logarithm of the product of
// the mantissas, which stays below 2^32.
struct Measuring {
  GradientMeasurement total = nothing_measured();
  double product = 1;
  std::uint32_t exponents = 0, count = 0, positive = 0;

  __device__ void take(float value, std::uint64_t place, std::uint32_t least, bool logarithms) {
    const std::uint32_t bits = bits_of(value) & 0x7fffffffu;
    if (bits >= kInfinityBits) {
      total.first_non_finite = Smallest{}(total.first_non_finite, place);
      return;
    }
    if (bits < least) return;
    const double magnitude = float_of(bits);
    total.sum += magnitude;
    total.signed_sum += static_cast<double>(value);
    total.squares += magnitude * magnitude;
    total.largest = Largest{}(total.largest, float_of(bits));
    total.smallest = Smallest{}(total.smallest, float_of(bits));
    ++count;
    if (!logarithms || bits < kSmallestNormalBits) return;
    exponents += bits >> 23;
    product *= static_cast<double>(float_of((bits & 0x007fffffu) | 0x3f800000u));
    ++positive;
  }

  __device__ GradientMeasurement finish() {
    total.count = count;
    total.positive = positive;
    if (positive > 0) {
      const double exponent = static_cast<double>(exponents) - 127.0 * positive;
      total.log_sum = exponent * 0.69314718055994530942 + log(product);
    }
    return total;
  }
};

// to: [4] values from `at` on; zeros from `valid` on.
template <typename Wire, bool kWide>
__device__ void load_four(const Wire* from, std::uint64_t at, int valid, float (&to)[kFour]) {
  if (kWide && valid == kFour) {
    if constexpr (sizeof(Wire) == 4) {
      const float4 four = *reinterpret_cast<const float4*>(from + at);
      to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
    } else {
      const uint2 four = *reinterpret_cast<const uint2*>(from + at);
      to[0] = widen(Wire{static_cast<std::uint16_t>(four.x)});
      to[1] = widen(Wire{static_cast<std::uint16_t>(four.x >> 16)});
      to[2] = widen(Wire{static_cast<std::uint16_t>(four.y)});
      to[3] = widen(Wire{static_cast<std::uint16_t>(four.y >> 16)});
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kFour; ++i) to[i] = i < valid ? widen(from[at + i]) : 0.0f;
}

template <bool kWide>
__device__ void store_four(float* to, std::uint64_t at, int valid, const float (&from)[kFour]) {
  if (kWide && valid == kFour) {
    *reinterpret_cast<float4*>(to + at) = make_float4(from[0], from[1], from[2], from[3]);
    return;
  }
#pragma unroll
  for (int i = 0; i < kFour; ++i) {
    if (i < valid) to[at + i] = from[i];
  }
}

__device__ float clipped(float value, float most) {
  if (value != value) return 0.0f;
  return value > most ? most : value < -most ? -most : value;
}

// Four values of the gradient and what they are added to.
struct Group {
  float gradient[kFour], residual[kFour], velocity[kFour];
  int valid;

  template <typename Wire, bool kWide>
  __device__ void load(const AccumulateGradient& job, std::uint64_t at) {
    const std::uint64_t left = at < job.num_values ? job.num_values - at : 0;
    valid = left < kFour ? static_cast<int>(left) : kFour;
    load_four<Wire, kWide>(static_cast<const Wire*>(job.gradient), at, valid, gradient);
    if (job.residual != nullptr) load_four<float, kWide>(job.residual, at, valid, residual);
    if (job.velocity != nullptr) load_four<float, kWide>(job.velocity, at, valid, velocity);
  }

  template <bool kWide>
  __device__ void add(const AccumulateGradient& job, std::uint64_t at, std::uint32_t least,
                      Measuring& measuring) {
#pragma unroll
    for (int i = 0; i < kFour; ++i) {
      float value = job.clips ? clipped(gradient[i], job.clip_at) : gradient[i];
      if (job.velocity != nullptr) {
        value = velocity[i] =
            __fadd_rn(__fmul_rn(job.momentum, velocity[i]), __fmul_rn(job.scale, value));
      }
      if (job.residual != nullptr) {
        value = residual[i] = __fadd_rn(__fmul_rn(job.decay, residual[i]), value);
      }
      if (i < valid) measuring.take(value, at + i, least, job.logarithms);
    }
    if (job.residual != nullptr) store_four<kWide>(job.residual, at, valid, residual);
    if (job.velocity != nullptr) store_four<kWide>(job.velocity, at, valid, velocity);
  }
};

template <typename Wire, bool kWide>
__global__ __launch_bounds__(kThreads) void add_tiles(AccumulateGradient job, std::uint32_t least,
                                                      GradientMeasurement* tiles) {
  let_next_start();
  wait_for_previous();
  __shared__ GradientMeasurement scratch[kThreads / 32];
  Measuring measuring;
  const std::uint64_t first = static_cast<std::uint64_t>(blockIdx.x) * kTileValues;
#pragma unroll 1
  for (int round = 0; round < kRounds; ++round) {
    Group groups[kGroupsAtOnce];
    std::uint64_t at[kGroupsAtOnce];
#pragma unroll
    for (int group = 0; group < kGroupsAtOnce; ++group) {
      const int column = (round * kGroupsAtOnce + group) * kThreads + static_cast<int>(threadIdx.x);
      at[group] = first + static_cast<std::uint64_t>(column) * kFour;
      groups[group].template load<Wire, kWide>(job, at[group]);
    }
#pragma unroll
    for (int group = 0; group < kGroupsAtOnce; ++group) {
      groups[group].template add<kWide>(job, at[group], least, measuring);
    }
  }
  const GradientMeasurement block = reduce_measurement(measuring.finish(), scratch);
  if (threadIdx.x == 0) tiles[blockIdx.x] = block;
}

__global__ __launch_bounds__(kThreads) void add_measurements(const GradientMeasurement* tiles,
                                                             std::uint32_t num_tiles,
                                                             GradientMeasurement* to) {
  let_next_start();
  wait_for_previous();
  __shared__ GradientMeasurement scratch[kThreads / 32];
  GradientMeasurement own = nothing_measured();
  for (std::uint32_t tile = threadIdx.x; tile < num_tiles; tile += kThreads)
    merge(own, tiles[tile]);
  own = reduce_measurement(own, scratch);
  if (threadIdx.x == 0) *to = own;
}

std::uint32_t num_tiles_of(std::uint64_t num_values) {
  return static_cast<std::uint32_t>((num_values + kTileValues - 1) / kTileValues);
}

bool is_aligned(const void* array, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(array) % bytes == 0;
}

// The bits of the least magnitude that is measured; above infinity's where that is none.
std::uint32_t least_bits(float least) {
  if (std::isnan(least)) return ~0u;
  return least > 0 ? bits_of(least) : 0u;
}

template <typename Wire>
cudaError_t add_all(const AccumulateGradient& job, cudaStream_t stream) {
  auto* tiles = static_cast<GradientMeasurement*>(job.workspace);
  const std::uint32_t num_tiles = num_tiles_of(job.num_values);
  const bool wide = is_aligned(job.gradient, kFour * sizeof(Wire)) &&
                    is_aligned(job.residual, kFour * sizeof(float)) &&
                    is_aligned(job.velocity, kFour * sizeof(float));
  if (num_tiles > 0) {
    const auto kernel = wide ? add_tiles<Wire, true> : add_tiles<Wire, false>;
    const cudaError_t error =
        launch(stream, num_tiles, kThreads, kernel, job, least_bits(job.least), tiles);
    if (error != cudaSuccess) return error;
  }
  return launch(stream, 1, kThreads, add_measurements, tiles, num_tiles, job.measurement);
}

}  // namespace

std::size_t accumulate_workspace_bytes(std::uint64_t num_values) {
  return std::size_t{num_tiles_of(num_values)} * sizeof(GradientMeasurement);
}

cudaError_t accumulate_gradient(const AccumulateGradient& job, cudaStream_t stream) {
  if (job.num_values > 0xffffffffu) return cudaErrorInvalidValue;
  switch (job.type) {
    case ValueType::kF32:
      return add_all<float>(job, stream);
    case ValueType::kF16:
      return add_all<F16>(job, stream);
    case ValueType::kBF16:
      return add_all<BF16>(job, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace tandem::gpu_kernels
