// SPDX-License-Identifier: Apache-2.0
//
// Narrow floats: a warp takes 16 outputs by 256 bytes of each at a time, as four products of 16
// bytes per lane; f32: a warp takes four outputs by 128 values.
//
// The order of the inputs inside a fragment is free if both sides share it. Lane t of a quad takes
// 16 contiguous bytes of outputs g and g + 8 and the same inputs of row g of x; words 0 and 1, 2
// and 3 of them are two fragments (e4m3: four). All loads of a step are issued before its first
// product. The weights of the first step are loaded before the previous launch has ended
// (launch.cuh), because no launch writes them. Eight rows cost the same as one, except for their
// loads. Two of a step's products of a quad are 128 neighbouring inputs of an output, which share a
// scale.
#include "gemm/narrow_product.h"

#include "common/launch.cuh"
#include "common/mma.cuh"
#include "gemm/grouped_kernels.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr unsigned kThreads = kMaxFewRowsWarps * 32;
constexpr int kStepChunks = 4;  // of 16 bytes, per lane and output; a quad's are neighbours

template <typename Outputs>
struct NarrowRows {
  Outputs outputs;
  std::int64_t in_features = 0;
  const void* x = nullptr;
};

// Bytes 2 * pair and 2 * pair + 1 of a word of e4m3 as bf16: exact.
__device__ inline std::uint32_t bf16_pair_of_e4m3(std::uint32_t word, int pair) {
  const std::uint32_t low = pair == 0 ? word : word >> 16, high = low >> 8;
  // the exponent in place is 120 too small; the product also normalises subnormals
  const float first =
      __uint_as_float((low & 0x80u) << 24 | (low & 0x7fu) << 20) * __uint_as_float(0x7b800000u);
  const float second =
      __uint_as_float((high & 0x80u) << 24 | (high & 0x7fu) << 20) * __uint_as_float(0x7b800000u);
  return __byte_perm(__float_as_uint(first), __float_as_uint(second), 0x7632u);
}

template <typename Value>
struct NarrowType;
template <>
struct NarrowType<BF16> {
  using Operand = Bfloat;
  static constexpr int kBytes = 2;
};
template <>
struct NarrowType<F16> {
  using Operand = Half;
  static constexpr int kBytes = 2;
};
template <>
struct NarrowType<E4M3> {
  using Operand = Bfloat;
  static constexpr int kBytes = 1;
};

// sums += the products of one chunk of 16 bytes of outputs g (a[0]) and g + 8 (a[1]).
// x: the same inputs of a row, 8 values per element.
template <typename Value, int kXChunks>
__device__ void multiply_chunk(const uint4 (&a)[2], const uint4 (&x)[kXChunks], float (&sums)[4]) {
  using Operand = typename NarrowType<Value>::Operand;
  if constexpr (NarrowType<Value>::kBytes == 2) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t fragment[4] = {word_of(a[0], 2 * i), word_of(a[1], 2 * i),
                                         word_of(a[0], 2 * i + 1), word_of(a[1], 2 * i + 1)};
      multiply_accumulate<Operand>(sums, fragment, word_of(x[0], 2 * i), word_of(x[0], 2 * i + 1));
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t low = word_of(a[0], i), high = word_of(a[1], i);
      const std::uint32_t fragment[4] = {bf16_pair_of_e4m3(low, 0), bf16_pair_of_e4m3(high, 0),
                                         bf16_pair_of_e4m3(low, 1), bf16_pair_of_e4m3(high, 1)};
      multiply_accumulate<Operand>(sums, fragment, word_of(x[i / 2], i % 2 * 2),
                                   word_of(x[i / 2], i % 2 * 2 + 1));
    }
  }
}

// Scales by blocks, of outputs g and g + 8.
struct ScaleRows {
  const float* rows[2];
  unsigned steps;  // of kNarrowScaleStep inputs, that share a scale
  unsigned last;   // scale of a row
  bool are_blocks;

  __device__ ScaleRows(const ProductTarget& target, std::int64_t in_features, std::int64_t output)
      : are_blocks(target.scales != nullptr && target.scale_inputs != 0) {
    if (!are_blocks) return;
    steps = static_cast<unsigned>(target.scale_inputs) / kNarrowScaleStep;
    last = static_cast<unsigned>((in_features - 1) / target.scale_inputs);
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const std::int64_t at = output + 8 * side;
      const std::int64_t row = at < target.out_features ? at / target.scale_outputs : 0;
      rows[side] = target.scales + row * (last + 1);
    }
  }
  // step: of kNarrowScaleStep inputs; may be after the last.
  __device__ float at(int side, unsigned step) const {
    if (!are_blocks) return 1.0f;
    const unsigned at = step / steps;
    return rows[side][at < last ? at : last];
  }
};

template <typename Value, bool kHasBlocks, typename Outputs>
__global__ __launch_bounds__(kThreads,
                             2) void products(const __grid_constant__ NarrowRows<Outputs> job) {
  let_next_start();
  if constexpr (kIsGrouped<Outputs>) wait_for_previous();
  constexpr int kXChunks = 2 / NarrowType<Value>::kBytes;  // of x, per chunk of W
  constexpr unsigned kTileChunks = kStepChunks * 4;
  __shared__ float warp_sums[kMaxFewRowsWarps * kMaxNarrowRows * kPanelOutputs];
  const auto place = panel_place(job.outputs);
  if (!has_work(place)) return;
  const ProductTarget& target = target_at(job.outputs, place);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const unsigned rows = rows_at(job.outputs, place), warps = job.outputs.warps;
  const auto chunks = static_cast<unsigned>(job.in_features * NarrowType<Value>::kBytes / 16);
  const std::int64_t first_output = static_cast<std::int64_t>(place.panel) * kPanelOutputs + g;
  const uint4* weights[2];
  bool is_output[2];
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    is_output[side] = first_output + 8 * side < target.out_features;
    weights[side] = static_cast<const uint4*>(target.weight) + (first_output + 8 * side) * chunks;
  }
  const auto* x = static_cast<const uint4*>(job.x) +
                  static_cast<std::size_t>(x_row(job.outputs, place, g)) * chunks * kXChunks;
  constexpr uint4 kZeros{0, 0, 0, 0};
  const ScaleRows scales(target, job.in_features, first_output);
  bool is_behind_wait = kIsGrouped<Outputs>;  // x is not read before, but the first weights are
  float sums[2][4] = {};  // of even and odd chunks; with blocks: of halves of a step
  for (unsigned first = (part_at(job.outputs) * warps + warp) * kTileChunks; first < chunks;
       first += job.outputs.parts * warps * kTileChunks) {
    uint4 a[kStepChunks][2], b[kStepChunks][kXChunks];
#pragma unroll
    for (int i = 0; i < kStepChunks; ++i) {
      const unsigned chunk = first + i * 4 + t;
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        a[i][side] = is_output[side] && chunk < chunks ? __ldcs(weights[side] + chunk) : kZeros;
      }
    }
    if (!is_behind_wait) wait_for_previous();
    is_behind_wait = true;
#pragma unroll
    for (int i = 0; i < kStepChunks; ++i) {
      const unsigned chunk = first + i * 4 + t;
#pragma unroll
      for (int k = 0; k < kXChunks; ++k) {
        b[i][k] = g < rows && chunk < chunks ? x[chunk * kXChunks + k] : kZeros;
      }
    }
    if constexpr (kHasBlocks) {
      static_assert(kStepChunks == 4 && kStepChunks / 2 * 4 * 16 == kNarrowScaleStep);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned step = first / (kTileChunks / 2) + half;
        const float scale[2] = {scales.at(0, step), scales.at(1, step)};
        float block[4] = {};
        multiply_chunk<Value>(a[2 * half], b[2 * half], block);
        multiply_chunk<Value>(a[2 * half + 1], b[2 * half + 1], block);
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[half][i] = fmaf(block[i], scale[i / 2], sums[half][i]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kStepChunks; ++i) multiply_chunk<Value>(a[i], b[i], sums[i % 2]);
    }
  }
  if (!is_behind_wait) wait_for_previous();
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = t * 2 + i % 2, output = g + i / 2 * 8;
    if (row >= rows) continue;
    warp_sums[(warp * rows + row) * kPanelOutputs + output] = sums[0][i] + sums[1][i];
  }
  finish_panel(job.outputs, place, target, warp_sums, warps);
}

constexpr int kQuadOutputs = 4;  // of a warp, f32
constexpr unsigned kQuads = kPanelOutputs / kQuadOutputs;

__device__ inline float dot(const float4& a, const float4& b, float sum) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

// Warps of a block: kQuads of outputs by warps / kQuads slices of the inputs.
template <int kRows, typename Outputs>
__global__ __launch_bounds__(kThreads) void f32_products(
    const __grid_constant__ NarrowRows<Outputs> job) {
  let_next_start();
  if constexpr (kIsGrouped<Outputs>) wait_for_previous();
  __shared__ float slice_sums[kMaxFewRowsWarps / kQuads * kRows * kPanelOutputs];
  const auto place = panel_place(job.outputs);
  if (!has_work(place)) return;
  const ProductTarget& target = target_at(job.outputs, place);
  const unsigned lane = threadIdx.x % 32, quad = threadIdx.x / 32 % kQuads;
  const unsigned slice = threadIdx.x / 32 / kQuads, slices = job.outputs.warps;
  const unsigned rows = rows_at(job.outputs, place);
  const auto chunks = static_cast<unsigned>(job.in_features / 4);
  const std::int64_t first_output =
      static_cast<std::int64_t>(place.panel) * kPanelOutputs + quad * kQuadOutputs;
  const auto* weights = static_cast<const float4*>(target.weight) + first_output * chunks;
  const auto* x = static_cast<const float4*>(job.x);
  const float4 zeros = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  unsigned x_rows[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    x_rows[row] = x_row(job.outputs, place, static_cast<unsigned>(row));
  }
  bool is_behind_wait = kIsGrouped<Outputs>;
  float sums[kQuadOutputs][kRows] = {};
  for (unsigned chunk = (part_at(job.outputs) * slices + slice) * 32 + lane; chunk < chunks;
       chunk += job.outputs.parts * slices * 32) {
    float4 a[kQuadOutputs];
#pragma unroll
    for (int output = 0; output < kQuadOutputs; ++output) {
      a[output] = first_output + output < target.out_features
                      ? __ldcs(weights + static_cast<std::size_t>(output) * chunks + chunk)
                      : zeros;
    }
    if (!is_behind_wait) wait_for_previous();
    is_behind_wait = true;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row >= static_cast<int>(rows)) break;
      const float4 b = x[static_cast<std::size_t>(x_rows[row]) * chunks + chunk];
#pragma unroll
      for (int output = 0; output < kQuadOutputs; ++output) {
        sums[output][row] = dot(a[output], b, sums[output][row]);
      }
    }
  }
  if (!is_behind_wait) wait_for_previous();
#pragma unroll
  for (int output = 0; output < kQuadOutputs; ++output) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      float sum = sums[output][row];
#pragma unroll
      for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
      if (lane == 0 && row < static_cast<int>(rows)) {
        slice_sums[(slice * rows + row) * kPanelOutputs + quad * kQuadOutputs + output] = sum;
      }
    }
  }
  finish_panel(job.outputs, place, target, slice_sums, slices);
}

// most_rows: of a block.
template <typename Outputs>
cudaError_t launch_f32(const NarrowRows<Outputs>& job, int most_rows, cudaStream_t stream) {
  const dim3 grid = grid_of(job.outputs);
  const unsigned threads = job.outputs.warps * kQuads * 32;
  if (most_rows == 1) return launch(stream, grid, threads, f32_products<1, Outputs>, job);
  if (most_rows == 2) return launch(stream, grid, threads, f32_products<2, Outputs>, job);
  if (most_rows <= 4) return launch(stream, grid, threads, f32_products<4, Outputs>, job);
  return launch(stream, grid, threads, f32_products<8, Outputs>, job);
}

template <typename Outputs>
cudaError_t launch_rows(StoredType type, bool has_blocks, int most_rows, NarrowRows<Outputs>& job,
                        cudaStream_t stream) {
  const auto with = [&](auto kernel) {
    return launch(stream, grid_of(job.outputs), job.outputs.warps * 32, kernel, job);
  };
  switch (type) {
    case StoredType::kF16:
      return with(products<F16, false, Outputs>);
    case StoredType::kBF16:
      return with(products<BF16, false, Outputs>);
    case StoredType::kE4M3:
      return has_blocks ? with(products<E4M3, true, Outputs>)
                        : with(products<E4M3, false, Outputs>);
    default:
      // four warps share a slice of the inputs
      job.outputs.warps = job.outputs.warps > kQuads ? kMaxFewRowsWarps / kQuads : 1;
      return launch_f32(job, most_rows, stream);
  }
}

// How many tiles a row of W has; 0 for what no kernel reads.
std::int64_t tiles_of_row(StoredType type, std::int64_t in_features) {
  const bool is_float = type == StoredType::kF32 || type == StoredType::kF16 ||
                        type == StoredType::kBF16 || type == StoredType::kE4M3;
  if (!is_float || in_features < 1 || in_features > 0x7fffffff) return 0;
  const auto width =
      static_cast<std::int64_t>(row_bytes(type, static_cast<std::size_t>(in_features)));
  const std::int64_t tile_bytes = type == StoredType::kF32 ? 32 * 16 : kStepChunks * 64;
  return width % 16 == 0 ? (width + tile_bytes - 1) / tile_bytes : 0;
}

// False for what no kernel reads; `has_blocks`: whether a target has a scale per block.
template <typename Job>
bool check_scales(const Job& job, bool& has_blocks) {
  has_blocks = false;
  for (int t = 0; t < job.num_targets; ++t) {
    const auto& target = job.targets[t];
    if (target.scales == nullptr) continue;
    if (job.type != StoredType::kE4M3 || target.scale_outputs < 1 || target.scale_inputs < 0 ||
        target.scale_inputs % kNarrowScaleStep != 0) {
      return false;
    }
    has_blocks = has_blocks || target.scale_inputs != 0;
  }
  return true;
}

}  // namespace

cudaError_t narrow_product(const NarrowProduct& job, cudaStream_t stream) {
  NarrowRows<FewRows> rows;
  const FewRowsCall call{job.rows, tiles_of_row(job.type, job.in_features), job.num_targets,
                         job.targets, job.workspace};
  bool has_blocks = false;
  if (!plan_few_rows(call, kMaxNarrowRows, rows.outputs) || !check_scales(job, has_blocks)) {
    return cudaErrorInvalidValue;
  }
  rows.in_features = job.in_features;
  rows.x = job.x;
  return launch_rows(job.type, has_blocks, job.rows, rows, stream);
}

cudaError_t grouped_narrow(const GroupedProduct& job, cudaStream_t stream) {
  NarrowRows<GroupedRows> rows;
  bool has_blocks = false;
  if (!plan_grouped_rows(job, tiles_of_row(job.type, job.in_features), rows.outputs) ||
      !check_scales(job, has_blocks)) {
    return cudaErrorInvalidValue;
  }
  rows.in_features = job.in_features;
  rows.x = job.x;
  return launch_rows(job.type, has_blocks, grouped_tile_rows(job.type, job.rows), rows, stream);
}

}  // namespace tandem::gpu_kernels
