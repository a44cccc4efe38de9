// SPDX-License-Identifier: Apache-2.0
//
// A thread packs one slab of one output; a block a group of slabs of a panel, so its stores of
// codes are 256 contiguous bytes per slab. It reads single bytes: the link that brings the file is
// slower, and this runs once.
#include "gemm/packed_weight.h"

#include "common/launch.cuh"
#include "gemm/packed_layout.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = kPanelOutputs * kGroupSlabs;

// Code v of a block, unsigned (of q8_0 the byte).
__device__ std::uint32_t code_at(const BlockQ8_0& block, int v) { return block.q[v]; }

template <typename Block>
__device__ std::uint32_t small_nibble(const Block& block, int v) {
  return (block.nibbles[v % 16] >> (v < 16 ? 0 : 4)) & 15u;
}
__device__ std::uint32_t code_at(const BlockQ4_0& block, int v) { return small_nibble(block, v); }
__device__ std::uint32_t code_at(const BlockQ4_1& block, int v) { return small_nibble(block, v); }
__device__ std::uint32_t code_at(const BlockIQ4_NL& block, int v) { return small_nibble(block, v); }
__device__ std::uint32_t code_at(const BlockQ5_0& block, int v) {
  return small_nibble(block, v) | ((block.high_bits[v / 8] >> (v % 8)) & 1u) << 4;
}
__device__ std::uint32_t code_at(const BlockQ5_1& block, int v) {
  return small_nibble(block, v) | ((block.high_bits[v / 8] >> (v % 8)) & 1u) << 4;
}

template <typename Block>
__device__ std::uint32_t k_nibble(const Block& block, int v) {
  const int sub = v / 32;
  return (block.nibbles[sub / 2 * 32 + v % 32] >> (sub % 2 * 4)) & 15u;
}
__device__ std::uint32_t code_at(const BlockQ4_K& block, int v) { return k_nibble(block, v); }
__device__ std::uint32_t code_at(const BlockQ5_K& block, int v) {
  return k_nibble(block, v) | ((block.high_bits[v % 32] >> (v / 32)) & 1u) << 4;
}
__device__ std::uint32_t code_at(const BlockQ6_K& block, int v) {
  const int half = v / 128, quarter = v % 128 / 32, i = v % 32;
  const std::uint32_t low =
      block.nibbles[half * 64 + quarter % 2 * 32 + i] >> (quarter / 2 * 4) & 15u;
  return low | ((block.high_bits[half * 32 + i] >> (quarter * 2)) & 3u) << 4;
}

template <typename Block>
struct Place {
  unsigned char* packed;
  PackedPlanes planes;
  std::size_t slab_row;   // [panels, slabs, 16]
  std::size_t group_row;  // [panels, groups, 16]
  unsigned slab_in_group;

  __device__ void store_scale(std::size_t plane, std::uint32_t bits) const {
    auto* to = reinterpret_cast<std::uint16_t*>(packed + plane);
    to[group_row * kGroupSlabs + slab_in_group] = static_cast<std::uint16_t>(bits);
  }
  __device__ void store_super(std::uint32_t bits) const {
    if (slab_in_group != 0) return;
    reinterpret_cast<std::uint32_t*>(packed + planes.supers)[group_row] = bits;
  }
};

template <typename Block>
__device__ void store_scales(const Place<Block>& place, const Block* block, int sub) {
  constexpr Packing kType = kPacking<Block>;
  if constexpr (kType.halves) {
    place.store_scale(
        place.planes.scales,
        block == nullptr
            ? 0u
            : block->scales[2 * sub] | static_cast<std::uint32_t>(block->scales[2 * sub + 1]) << 8);
    place.store_super(block == nullptr ? 0u : block->scale);
  } else if constexpr (kType.is_k) {
    std::uint32_t bits = 0;
    if (block != nullptr) {
      const SubBlockScale k = sub_block_scale(block->scales, sub);
      bits = static_cast<std::uint32_t>(k.scale) | static_cast<std::uint32_t>(k.min) << 8;
    }
    place.store_scale(place.planes.scales, bits);
    place.store_super(
        block == nullptr ? 0u : block->scale | static_cast<std::uint32_t>(block->min) << 16);
  } else {
    place.store_scale(place.planes.scales, block == nullptr ? 0u : block->scale);
    if constexpr (kType.has_mins) {
      place.store_scale(place.planes.mins, block == nullptr ? 0u : block->min);
    }
  }
}

// codes: [32] of the slab.
template <typename Block>
__device__ void store_codes(const Place<Block>& place, const std::uint32_t (&codes)[kSlabValues]) {
  constexpr Packing kType = kPacking<Block>;
  std::uint32_t words[8] = {};
#pragma unroll
  for (int v = 0; v < kSlabValues; ++v) {
    if constexpr (kType.bits == 8) {
      words[v / 4] |= codes[v] << (8 * (v % 4));
    } else {
      words[v % 16 / 4] |= (codes[v] & 15u) << (8 * (v % 4) + v / 16 * 4);
    }
  }
  auto* chunks = reinterpret_cast<uint4*>(place.packed);
  if constexpr (kType.bits == 8) {
    const std::size_t row = place.slab_row % kPanelOutputs;
    const std::size_t first = (place.slab_row - row) * 2 + row;
    chunks[first] = uint4{words[0], words[1], words[2], words[3]};
    chunks[first + kPanelOutputs] = uint4{words[4], words[5], words[6], words[7]};
  } else {
    chunks[place.slab_row] = uint4{words[0], words[1], words[2], words[3]};
  }
}

template <typename Block>
__device__ void store_high(const Place<Block>& place, const std::uint32_t (&codes)[kSlabValues]) {
  constexpr Packing kType = kPacking<Block>;
  auto* high = reinterpret_cast<std::uint32_t*>(place.packed + place.planes.high);
  if constexpr (kType.bits == 5) {
    std::uint32_t word = 0;
#pragma unroll
    for (int v = 0; v < kSlabValues; ++v) {
      word |= (codes[v] >> 4 & 1u) << (8 * (v % 16 / 4) + v % 4 + v / 16 * 4);
    }
    high[place.slab_row] = word;
  } else if constexpr (kType.bits == 6) {
    std::uint32_t words[2] = {};
#pragma unroll
    for (int v = 0; v < kSlabValues; ++v) {
      words[v / 16] |= (codes[v] >> 4 & 3u) << (8 * (v % 4) + v % 16 / 4 * 2);
    }
    high[place.slab_row * 2] = words[0];
    high[place.slab_row * 2 + 1] = words[1];
  }
}

// grid: [groups, panels of the rows]. rows: [num_rows, in_features / Block::kValues].
template <typename Block>
__global__ __launch_bounds__(kThreads) void pack(const Block* rows, PackedPlanes planes,
                                                 std::int64_t num_rows, std::int64_t first_panel,
                                                 unsigned char* packed) {
  let_next_start();
  wait_for_previous();
  constexpr unsigned kSlabs = Block::kValues / kSlabValues;  // per block
  const unsigned row = threadIdx.x % kPanelOutputs;
  const unsigned slab_in_group = threadIdx.x / kPanelOutputs;
  const unsigned slab = blockIdx.x * kGroupSlabs + slab_in_group;
  const std::size_t panel = static_cast<std::size_t>(first_panel) + blockIdx.y;
  const std::int64_t source_row = static_cast<std::int64_t>(blockIdx.y) * kPanelOutputs + row;
  const Place<Block> place{packed, planes, (panel * planes.slabs + slab) * kPanelOutputs + row,
                           (panel * planes.groups + blockIdx.x) * kPanelOutputs + row,
                           slab_in_group};
  const Block* block = nullptr;
  if (source_row < num_rows && slab < planes.slabs) {
    block = rows + (static_cast<std::size_t>(source_row) * planes.slabs + slab) / kSlabs;
  }
  const int sub = static_cast<int>(slab % kSlabs);
  store_scales(place, block, sub);
  if (slab >= planes.slabs) return;
  std::uint32_t codes[kSlabValues];
#pragma unroll
  for (int v = 0; v < kSlabValues; ++v) {
    codes[v] = block == nullptr ? 0u : code_at(*block, sub * kSlabValues + v);
  }
  store_codes(place, codes);
  store_high(place, codes);
}

}  // namespace

bool is_packable(StoredType type) {
  return with_packable(type, false, [](auto) { return true; });
}

std::size_t packed_bytes(StoredType type, std::int64_t out_features, std::int64_t in_features) {
  return with_packable(type, std::size_t{0}, [&](auto block) {
    return planes_of<decltype(block)>(out_features, in_features).end;
  });
}

cudaError_t pack_rows(const RowPacking& job, cudaStream_t stream) {
  const std::int64_t end = job.first_row + job.num_rows;
  if (job.first_row < 0 || job.num_rows < 0 || end > job.out_features || job.in_features < 1 ||
      job.first_row % kPanelOutputs != 0 ||
      (job.num_rows % kPanelOutputs != 0 && end != job.out_features)) {
    return cudaErrorInvalidValue;
  }
  return with_packable(job.type, cudaErrorInvalidValue, [&](auto block) -> cudaError_t {
    using Block = decltype(block);
    if (job.in_features % Block::kValues != 0) return cudaErrorInvalidValue;
    const PackedPlanes planes = planes_of<Block>(job.out_features, job.in_features);
    // a grid has at most 65,535 blocks in y
    constexpr std::int64_t kStep = std::int64_t{32768} * kPanelOutputs;
    for (std::int64_t at = 0; at < job.num_rows; at += kStep) {
      const std::int64_t count = at + kStep < job.num_rows ? kStep : job.num_rows - at;
      const auto* rows =
          static_cast<const Block*>(job.rows) + at * (job.in_features / Block::kValues);
      const dim3 grid(planes.groups,
                      static_cast<unsigned>((count + kPanelOutputs - 1) / kPanelOutputs));
      const cudaError_t error =
          launch(stream, grid, kThreads, pack<Block>, rows, planes, count,
                 (job.first_row + at) / kPanelOutputs, static_cast<unsigned char*>(job.packed));
      if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
  });
}

}  // namespace tandem::gpu_kernels
