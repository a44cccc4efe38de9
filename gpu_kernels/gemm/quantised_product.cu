// SPDX-License-Identifier: Apache-2.0
//
// Few rows by dp4a: a warp takes 16 outputs by 8 slabs at a time, a lane four slabs of one output.
//
// The two lanes of an output take slabs of equal parity. The next tile's loads are issued before
// the current one is multiplied; x, which all blocks read, stays in the first-level cache, around
// which weights are read.
#include "gemm/quantised_product.h"

#include "common/launch.cuh"
#include "gemm/quantised_kernels.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kLaneSlabs = kGroupSlabs / 2;
constexpr unsigned kThreads = kMaxFewRowsWarps * 32;

template <typename Block>
struct LaneTile {
  static constexpr int kHigh = kHighWords<Block> > 0 ? kHighWords<Block> : 1;
  uint4 codes[kLaneSlabs][kChunks<Block>];
  std::uint32_t high[kLaneSlabs][kHigh];
  uint4 scales, mins;
  std::uint32_t super;
};

// Where a lane reads of its panel.
struct LanePlace {
  const unsigned char* packed;
  unsigned panel, row, parity;
};

template <typename Block>
__device__ void load_tile(const LanePlace& at, const PackedPlanes& planes, unsigned group,
                          LaneTile<Block>& tile) {
  const auto* codes = reinterpret_cast<const uint4*>(at.packed);
  const auto* high = reinterpret_cast<const std::uint32_t*>(at.packed + planes.high);
#pragma unroll
  for (int i = 0; i < kLaneSlabs; ++i) {
    const unsigned slab = group * kGroupSlabs + at.parity + 2 * i;
    if (slab >= planes.slabs) break;
    const std::size_t first = (static_cast<std::size_t>(at.panel) * planes.slabs + slab);
#pragma unroll
    for (int chunk = 0; chunk < kChunks<Block>; ++chunk) {
      tile.codes[i][chunk] =
          __ldcs(codes + (first * kChunks<Block> + chunk) * kPanelOutputs + at.row);
    }
#pragma unroll
    for (int k = 0; k < kHighWords<Block>; ++k) {
      tile.high[i][k] = __ldcs(high + (first * kPanelOutputs + at.row) * kHighWords<Block> + k);
    }
  }
  const std::size_t group_row =
      (static_cast<std::size_t>(at.panel) * planes.groups + group) * kPanelOutputs + at.row;
  tile.scales = __ldcs(reinterpret_cast<const uint4*>(at.packed + planes.scales) + group_row);
  if constexpr (kPacking<Block>.has_mins) {
    tile.mins = __ldcs(reinterpret_cast<const uint4*>(at.packed + planes.mins) + group_row);
  }
  if constexpr (kPacking<Block>.is_k) {
    tile.super =
        __ldcs(reinterpret_cast<const std::uint32_t*>(at.packed + planes.supers) + group_row);
  }
}

// The 32 values of slab i as bytes, in order.
template <typename Block>
__device__ void decode_slab(const LaneTile<Block>& tile, int i, std::uint32_t (&values)[8]) {
  if constexpr (kPacking<Block>.bits == 8) {
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      values[t] = word_of(tile.codes[i][0], t);
      values[4 + t] = word_of(tile.codes[i][kChunks<Block> - 1], t);
    }
  } else {
    std::uint32_t high[2] = {};
#pragma unroll
    for (int k = 0; k < kHighWords<Block>; ++k) high[k] = tile.high[i][k];
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const CodeQuads quads =
          decode_word<Block>(word_of(tile.codes[i][0], t), high, static_cast<unsigned>(t));
      values[t] = quads.first;
      values[4 + t] = quads.second;
    }
  }
}

__device__ inline int dot_half(const std::uint32_t (&values)[8], int first, const uint4& x,
                               int sum) {
#pragma unroll
  for (int t = 0; t < 4; ++t) {
    sum = __dp4a(static_cast<int>(values[first + t]), static_cast<int>(word_of(x, t)), sum);
  }
  return sum;
}

// One slab of one row of x: its 32 bytes at `x`.
template <typename Block>
__device__ float add_slab(const std::uint32_t (&values)[8], const SlabScale& scale, const uint4* x,
                          const Q8Note& note, float sum) {
  constexpr Packing kType = kPacking<Block>;
  if constexpr (kType.halves) {
    const int first = dot_half(values, 0, x[0], -kType.offset * note.first_sum);
    const int second = dot_half(values, 4, x[1], -kType.offset * (note.sum - note.first_sum));
    const float weighed =
        fmaf(scale.a[0], static_cast<float>(first), scale.a[1] * static_cast<float>(second));
    return fmaf(note.scale, weighed, sum);
  } else {
    const int all = dot_half(values, 4, x[1], dot_half(values, 0, x[0], -kType.offset * note.sum));
    sum = fmaf(scale.a[0] * note.scale, static_cast<float>(all), sum);
    return kHasMin<Block> ? fmaf(scale.b, note.scaled_sum, sum) : sum;
  }
}

// Of the rows of a block: where they are in x, and the lane's sums.
template <int kRows>
struct RowSums {
  unsigned x_rows[kRows];
  float sums[kRows] = {};
};

template <typename Block, typename Job, int kRows>
__device__ void multiply_tile(const Job& job, const LaneTile<Block>& tile, unsigned slabs,
                              unsigned first_slab, unsigned parity, RowSums<kRows>& rows) {
#pragma unroll
  for (int i = 0; i < kLaneSlabs; ++i) {
    const unsigned slab = first_slab + parity + 2 * i;
    if (slab >= slabs) break;
    std::uint32_t values[8];
    decode_slab(tile, i, values);
    const std::uint32_t min = kPacking<Block>.has_mins ? word_of(tile.mins, i) >> (16 * parity) : 0;
    const SlabScale scale =
        slab_scale<Block>((word_of(tile.scales, i) >> (16 * parity)) & 0xffffu, min & 0xffffu,
                          kPacking<Block>.is_k ? tile.super : 0u);
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const auto* x =
          reinterpret_cast<const uint4*>(job.x + rows.x_rows[row] * job.in_features) + slab * 2;
      const Q8Note& note = job.notes[static_cast<std::size_t>(rows.x_rows[row]) * slabs + slab];
      rows.sums[row] = add_slab<Block>(values, scale, x, note, rows.sums[row]);
    }
  }
}

template <typename Block, int kRows, typename Outputs>
__global__ __launch_bounds__(kThreads) void dots(
    const __grid_constant__ QuantisedRowsOf<Outputs> job) {
  let_next_start();
  __shared__ float warp_sums[kMaxFewRowsWarps * kRows * kPanelOutputs];
  if constexpr (kIsGrouped<Outputs>) wait_for_previous();
  const auto place = panel_place(job.outputs);
  if (!has_work(place)) return;
  const ProductTarget& target = target_at(job.outputs, place);
  const unsigned rows = rows_at(job.outputs, place);
  RowSums<kRows> own;
#pragma unroll
  for (unsigned row = 0; row < kRows; ++row) own.x_rows[row] = x_row(job.outputs, place, row);
  const PackedPlanes planes = planes_of<Block>(target.out_features, job.in_features);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned warps = job.outputs.warps, step = job.outputs.parts * warps;
  const LanePlace at{static_cast<const unsigned char*>(target.weight), place.panel, lane % 16,
                     lane / 16};
  unsigned group = part_at(job.outputs) * warps + warp;
  LaneTile<Block> tile;
  if (group < planes.groups) load_tile(at, planes, group, tile);
  if constexpr (!kIsGrouped<Outputs>) wait_for_previous();  // x comes from it; weights do not
  for (; group < planes.groups; group += step) {
    LaneTile<Block> next{};
    if (group + step < planes.groups) load_tile(at, planes, group + step, next);
    multiply_tile(job, tile, planes.slabs, group * kGroupSlabs, at.parity, own);
    tile = next;
  }
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const float other = __shfl_xor_sync(0xffffffffu, own.sums[row], 16);
    if (lane < 16 && row < static_cast<int>(rows)) {
      warp_sums[(warp * rows + row) * kPanelOutputs + lane] = own.sums[row] + other;
    }
  }
  finish_panel(job.outputs, place, target, warp_sums, warps);
}

template <typename Block, int kRows>
cudaError_t launch_dots(const QuantisedRows& job, cudaStream_t stream) {
  return launch(stream, grid_of(job.outputs), job.outputs.warps * 32, dots<Block, kRows, FewRows>,
                job);
}

template <typename Block, int kRows>
cudaError_t launch_grouped(const QuantisedRowsOf<GroupedRows>& job, cudaStream_t stream) {
  return launch(stream, grid_of(job.outputs), job.outputs.warps * 32,
                dots<Block, kRows, GroupedRows>, job);
}

}  // namespace

cudaError_t quantised_dots(StoredType type, const QuantisedRows& job, cudaStream_t stream) {
  return with_packable(type, cudaErrorInvalidValue, [&](auto block) -> cudaError_t {
    using Block = decltype(block);
    switch (job.outputs.rows) {
      case 1:
        return launch_dots<Block, 1>(job, stream);
      case 2:
        return launch_dots<Block, 2>(job, stream);
      case 3:
        return launch_dots<Block, 3>(job, stream);
      default:
        return launch_dots<Block, 4>(job, stream);
    }
  });
}

cudaError_t grouped_dots(const GroupedProduct& job, cudaStream_t stream) {
  QuantisedRowsOf<GroupedRows> rows;
  if (!plan_grouped_quantised(job, rows)) return cudaErrorInvalidValue;
  return with_packable(job.type, cudaErrorInvalidValue, [&](auto block) -> cudaError_t {
    using Block = decltype(block);
    if (job.rows == 1) return launch_grouped<Block, 1>(rows, stream);
    return job.rows == 2 ? launch_grouped<Block, 2>(rows, stream)
                         : launch_grouped<Block, 4>(rows, stream);
  });
}

cudaError_t quantised_product(const QuantisedProduct& job, cudaStream_t stream) {
  if (!is_packable(job.type) || job.in_features < 1 || job.in_features > 0x7fffffff ||
      job.in_features % values_per_block(job.type) != 0) {
    return cudaErrorInvalidValue;
  }
  QuantisedRows rows;
  const std::int64_t group = kGroupSlabs * kSlabValues;
  const FewRowsCall call{job.rows, (job.in_features + group - 1) / group, job.num_targets,
                         job.targets, job.workspace};
  if (!plan_few_rows(call, kMaxQuantisedRows, rows.outputs)) return cudaErrorInvalidValue;
  rows.in_features = job.in_features;
  rows.x = job.x;
  rows.notes = job.notes;
  return job.rows <= kDotRows ? quantised_dots(job.type, rows, stream)
                              : quantised_mma(job.type, rows, stream);
}

}  // namespace tandem::gpu_kernels
