// SPDX-License-Identifier: Apache-2.0
//
// Packed types: a warp writes 256 values of one output, a lane eight; a block writes the 16 outputs
// of a panel, so warps share the sectors that they read. e4m3: a thread loads 16 values at a time
// and stores them in two parts. Roundings are those of the host, one by one.
#include "gemm/dequantise.h"

#include "common/launch.cuh"
#include "common/quads.cuh"
#include "gemm/packed_layout.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = kPanelOutputs * 32;
constexpr int kLaneValues = 8;
constexpr unsigned kLineValues = 16;  // of e4m3, in a load

// Codes kLaneValues * part .. of a slab, four bytes in each quad.
template <typename Block>
__device__ CodeQuads load_codes(const unsigned char* packed, const PackedPlanes& planes,
                                std::size_t slab_row, unsigned part) {
  constexpr Packing kType = kPacking<Block>;
  const auto* words = reinterpret_cast<const std::uint32_t*>(packed);
  if constexpr (kType.bits == 8) {
    const std::size_t row = slab_row % kPanelOutputs;
    const std::size_t chunk = (slab_row - row) * 2 + part / 2 * kPanelOutputs + row;
    const auto pair = *reinterpret_cast<const uint2*>(words + chunk * 4 + part % 2 * 2);
    return {pair.x, pair.y};
  } else {
    const unsigned t = part % 2 * 2;
    const auto pair = *reinterpret_cast<const uint2*>(words + slab_row * 4 + t);
    std::uint32_t high[2] = {};
    const auto* high_words = reinterpret_cast<const std::uint32_t*>(packed + planes.high);
#pragma unroll
    for (int k = 0; k < kHighWords<Block>; ++k) {
      high[k] = high_words[slab_row * kHighWords<Block> + k];
    }
    const CodeQuads low = decode_word<Block>(pair.x, high, t);
    const CodeQuads top = decode_word<Block>(pair.y, high, t + 1);
    return part < 2 ? CodeQuads{low.first, top.first} : CodeQuads{low.second, top.second};
  }
}

template <typename Block>
__device__ float value_of(std::uint32_t code, const SlabScale& scale, int half) {
  constexpr Packing kType = kPacking<Block>;
  int u = static_cast<int>(code);
  if constexpr (kType.bits == 8 || kType.is_table) u = static_cast<std::int8_t>(code);
  const float value = scaled(half == 0 ? scale.a[0] : scale.a[1], u - kType.offset);
  return kHasMin<Block> ? __fadd_rn(value, scale.b) : value;
}

__device__ std::uint32_t bf16_pair(float low, float high) {
  BF16 first, second;
  narrow(low, first);
  narrow(high, second);
  return first.bits | static_cast<std::uint32_t>(second.bits) << 16;
}

// grid: [panels, groups]
template <typename Block>
__global__ __launch_bounds__(kThreads) void dequantise(Dequantisation job, PackedPlanes planes) {
  let_next_start();
  wait_for_previous();
  constexpr Packing kType = kPacking<Block>;
  const unsigned row = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned slab_in_group = lane / 4, part = lane % 4;
  const unsigned slab = blockIdx.y * kGroupSlabs + slab_in_group;
  const std::int64_t to_row = static_cast<std::int64_t>(blockIdx.x) * kPanelOutputs + row;
  if (to_row >= job.num_rows || slab >= planes.slabs) return;
  const auto* packed = static_cast<const unsigned char*>(job.weight);
  const std::size_t panel = static_cast<std::size_t>(job.first_row / kPanelOutputs) + blockIdx.x;
  const std::size_t slab_row = (panel * planes.slabs + slab) * kPanelOutputs + row;
  const std::size_t group_row = (panel * planes.groups + blockIdx.y) * kPanelOutputs + row;
  const auto scale_at = [&](std::size_t plane) -> std::uint32_t {
    return reinterpret_cast<const std::uint16_t*>(packed +
                                                  plane)[group_row * kGroupSlabs + slab_in_group];
  };
  const std::uint32_t super =
      kType.is_k ? reinterpret_cast<const std::uint32_t*>(packed + planes.supers)[group_row] : 0u;
  const SlabScale scale = slab_scale<Block>(scale_at(planes.scales),
                                            kType.has_mins ? scale_at(planes.mins) : 0u, super);
  const CodeQuads quads = load_codes<Block>(packed, planes, slab_row, part);
  const int half = static_cast<int>(part / 2);
  float values[kLaneValues];
#pragma unroll
  for (int i = 0; i < kLaneValues; ++i) {
    const std::uint32_t quad = i < 4 ? quads.first : quads.second;
    values[i] = value_of<Block>((quad >> (8 * (i % 4))) & 0xffu, scale, half);
  }
  auto* to = reinterpret_cast<uint4*>(job.to + to_row * job.in_features + slab * kSlabValues);
  to[part] = uint4{bf16_pair(values[0], values[1]), bf16_pair(values[2], values[3]),
                   bf16_pair(values[4], values[5]), bf16_pair(values[6], values[7])};
}

// Values first .. first + num - 1 of a row, which share a scale.
__device__ void widen_run(const E4M3* from, BF16* to, unsigned first, unsigned num, float scale) {
  for (unsigned column = first; column < first + num; ++column) {
    narrow(__fmul_rn(widen(from[column]), scale), to[column]);
  }
}

// Sixteen values, both aligned to 16.
__device__ void widen_line(const E4M3* from, BF16* to, float scale) {
  const uint4 line = *reinterpret_cast<const uint4*>(from);
  const std::uint32_t words[4] = {line.x, line.y, line.z, line.w};
  std::uint32_t pairs[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t word = words[i / 2] >> (16 * (i % 2));
    const E4M3 low{static_cast<std::uint8_t>(word)}, high{static_cast<std::uint8_t>(word >> 8)};
    pairs[i] = bf16_pair(__fmul_rn(widen(low), scale), __fmul_rn(widen(high), scale));
  }
  auto* out = reinterpret_cast<uint4*>(to);
  out[0] = uint4{pairs[0], pairs[1], pairs[2], pairs[3]};
  out[1] = uint4{pairs[4], pairs[5], pairs[6], pairs[7]};
}

// grid: [rows, parts of a row]; any width. A thread takes kLineValues values and a scale for each
// run of them that shares it. In lines: all are aligned and share one.
template <bool kInLines>
__global__ __launch_bounds__(256) void widen_e4m3(Dequantisation job, unsigned scales_per_row) {
  let_next_start();
  wait_for_previous();
  const unsigned width = static_cast<unsigned>(job.in_features);
  const unsigned begin = (blockIdx.y * blockDim.x + threadIdx.x) * kLineValues;
  if (begin >= width) return;
  const std::int64_t row = job.first_row + blockIdx.x;
  const auto* from = static_cast<const E4M3*>(job.weight) + row * job.in_features;
  BF16* to = job.to + blockIdx.x * job.in_features;
  const unsigned run = job.scale_inputs > 0 ? static_cast<unsigned>(job.scale_inputs) : width;
  const float* scales = nullptr;
  if (job.scales != nullptr && job.scale_inputs == 0) {
    scales = job.scales + row;
  } else if (job.scales != nullptr) {
    const unsigned scale_row =
        static_cast<unsigned>(row) / static_cast<unsigned>(job.scale_outputs);
    scales = job.scales + static_cast<std::size_t>(scale_row) * scales_per_row;
  }
  unsigned block = begin / run;
  if constexpr (kInLines) {
    widen_line(from + begin, to + begin, scales != nullptr ? scales[block] : 1.0f);
  } else {
    const unsigned end = min(begin + kLineValues, width);
    for (unsigned first = begin; first < end; ++block) {
      const unsigned next = min((block + 1) * run, end);
      widen_run(from, to, first, next - first, scales != nullptr ? scales[block] : 1.0f);
      first = next;
    }
  }
}

}  // namespace

cudaError_t dequantise_rows(const Dequantisation& job, cudaStream_t stream) {
  if (job.first_row < 0 || job.num_rows < 0 || job.first_row + job.num_rows > job.out_features ||
      job.in_features < 1 || job.in_features > 0x7fffff || job.first_row % kPanelOutputs != 0 ||
      job.scale_outputs < 1 || job.scale_inputs < 0) {
    return cudaErrorInvalidValue;
  }
  if (job.num_rows == 0) return cudaSuccess;
  if (job.type == StoredType::kE4M3) {
    if (job.out_features > 0x7fffffff) return cudaErrorInvalidValue;
    constexpr std::int64_t kPart = 256 * kLineValues;
    const dim3 grid(static_cast<unsigned>(job.num_rows),
                    static_cast<unsigned>((job.in_features + kPart - 1) / kPart));
    const std::int64_t run = job.scale_inputs > 0 ? job.scale_inputs : job.in_features;
    const auto scales_per_row = static_cast<unsigned>((job.in_features + run - 1) / run);
    const bool in_lines = is_aligned(job.weight) && is_aligned(job.to) &&
                          job.in_features % kLineValues == 0 &&
                          job.scale_inputs % static_cast<int>(kLineValues) == 0;
    return launch(stream, grid, 256, in_lines ? widen_e4m3<true> : widen_e4m3<false>, job,
                  scales_per_row);
  }
  return with_packable(job.type, cudaErrorInvalidValue, [&](auto block) -> cudaError_t {
    using Block = decltype(block);
    if (job.in_features % Block::kValues != 0) return cudaErrorInvalidValue;
    const PackedPlanes planes = planes_of<Block>(job.out_features, job.in_features);
    const dim3 grid(static_cast<unsigned>((job.num_rows + kPanelOutputs - 1) / kPanelOutputs),
                    planes.groups);
    return launch(stream, grid, kThreads, dequantise<Block>, job, planes);
  });
}

}  // namespace tandem::gpu_kernels
