// SPDX-License-Identifier: Apache-2.0
//
// Five to sixteen rows by mma of bytes: a warp takes 16 outputs by 8 slabs at a time, a product of
// 16 outputs, 8 rows and one slab per instruction.
//
// A lane's words of a slab are word t of outputs g and g + 8: both loads of a warp are 128
// contiguous bytes, and decoding them gives the four words of the fragment. Rows of x pass through
// shared memory of the warp, [rows][256 + 16 bytes], so that the fragments' words are in different
// banks. Sums of integers start at the bits of the f32 value 1.5 * 2^23, minus the share of the
// offset. All additions stay in that binade, so one subtraction makes a float of them.
#include "common/launch.cuh"
#include "common/mma.cuh"
#include "gemm/quantised_kernels.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr unsigned kThreads = kMaxFewRowsWarps * 32;
constexpr unsigned kRowBytes = kGroupSlabs * kSlabValues + 16;
constexpr std::int32_t kMagicBits = 0x4b400000;
constexpr float kMagic = 12582912.0f;

template <typename Block>
struct FragmentTile {
  std::uint32_t codes[kGroupSlabs][kChunks<Block>][2];  // of outputs g and g + 8
  std::uint32_t high[kGroupSlabs][2];                   // high_bits_of_lane()
  uint4 scales[2], mins[2];
  std::uint32_t super[2];
};

struct FragmentPlace {
  const unsigned char* packed;
  unsigned panel, g, t;
};

// What word t of the codes needs of a slab's high bits: of two words the lane's bits of both.
template <typename Block>
__device__ std::uint32_t high_bits_of_lane(const std::uint32_t* words, unsigned t) {
  if constexpr (kHighWords<Block> == 2) {
    const uint2 pair = __ldcs(reinterpret_cast<const uint2*>(words));
    return ((pair.x >> (2 * t)) & 0x03030303u) | ((pair.y >> (2 * t)) & 0x03030303u) << 4;
  } else {
    return __ldcs(words) >> (8 * t);
  }
}

template <typename Block>
__device__ void load_tile(const FragmentPlace& at, const PackedPlanes& planes, unsigned group,
                          FragmentTile<Block>& tile) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(at.packed);
  const auto* high = reinterpret_cast<const std::uint32_t*>(at.packed + planes.high);
#pragma unroll
  for (int i = 0; i < kGroupSlabs; ++i) {
    const unsigned slab = group * kGroupSlabs + i;
    if (slab >= planes.slabs) break;
    const std::size_t first = static_cast<std::size_t>(at.panel) * planes.slabs + slab;
#pragma unroll
    for (unsigned side = 0; side < 2; ++side) {
      const unsigned row = at.g + 8 * side;
#pragma unroll
      for (int chunk = 0; chunk < kChunks<Block>; ++chunk) {
        tile.codes[i][chunk][side] =
            __ldcs(words + ((first * kChunks<Block> + chunk) * kPanelOutputs + row) * 4 + at.t);
      }
      if constexpr ((kHighWords<Block>) != 0) {
        const std::uint32_t* from = high + (first * kPanelOutputs + row) * kHighWords<Block>;
        tile.high[i][side] = high_bits_of_lane<Block>(from, at.t);
      }
    }
  }
#pragma unroll
  for (unsigned side = 0; side < 2; ++side) {
    const std::size_t group_row =
        (static_cast<std::size_t>(at.panel) * planes.groups + group) * kPanelOutputs + at.g +
        8 * side;
    tile.scales[side] =
        __ldcs(reinterpret_cast<const uint4*>(at.packed + planes.scales) + group_row);
    if constexpr (kPacking<Block>.has_mins) {
      tile.mins[side] = __ldcs(reinterpret_cast<const uint4*>(at.packed + planes.mins) + group_row);
    }
    if constexpr (kPacking<Block>.is_k) {
      tile.super[side] =
          __ldcs(reinterpret_cast<const std::uint32_t*>(at.packed + planes.supers) + group_row);
    }
  }
}

// A group of x in shared memory, of kSets * 8 rows; those that are not there are zeros.
template <int kSets>
struct StagedRows {
  alignas(16) unsigned char codes[kSets * 8][kRowBytes];
  Q8Note notes[kGroupSlabs][kSets * 8];
};

template <typename Job, typename Place, int kSets>
__device__ void stage_rows(const Job& job, const Place& place, unsigned slabs, unsigned group,
                           unsigned lane, StagedRows<kSets>& staged) {
  const unsigned rows = rows_at(job.outputs, place);
  constexpr unsigned kChunksOfRow = kGroupSlabs * kSlabValues / 16;
  const unsigned first_slab = group * kGroupSlabs;
#pragma unroll 4
  for (unsigned i = 0; i < kSets * 8 * kChunksOfRow / 32; ++i) {
    const unsigned row = (i * 32 + lane) / kChunksOfRow, chunk = (i * 32 + lane) % kChunksOfRow;
    uint4 codes{0, 0, 0, 0};
    if (row < rows && first_slab + chunk / 2 < slabs) {
      const std::int8_t* x = job.x + x_row(job.outputs, place, row) * job.in_features;
      codes = *(reinterpret_cast<const uint4*>(x) + first_slab * 2 + chunk);
    }
    *reinterpret_cast<uint4*>(&staged.codes[row][chunk * 16]) = codes;
  }
#pragma unroll 2
  for (unsigned i = 0; i < kSets * 8 * kGroupSlabs / 32; ++i) {
    const unsigned row = (i * 32 + lane) / kGroupSlabs, slab = (i * 32 + lane) % kGroupSlabs;
    Q8Note note{0.0f, 0.0f, 0, 0};
    if (row < rows && first_slab + slab < slabs) {
      const std::size_t from = x_row(job.outputs, place, row);
      note = job.notes[from * slabs + first_slab + slab];
    }
    staged.notes[slab][row] = note;
  }
}

// A slab of 16 outputs, scales of g and g + 8.
struct Fragment {
  std::uint32_t a[4];
  SlabScale scales[2];
};

// Word t of slab i of outputs g and g + 8 as a fragment.
template <typename Block>
__device__ void decode_fragment(const FragmentTile<Block>& tile, int i, std::uint32_t (&a)[4]) {
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    if constexpr (kPacking<Block>.bits == 8) {
      a[side] = tile.codes[i][0][side];
      a[2 + side] = tile.codes[i][kChunks<Block> - 1][side];
    } else {
      const std::uint32_t high[2] = {tile.high[i][side], tile.high[i][side] >> 4};
      const CodeQuads quads = decode_word<Block>(tile.codes[i][0][side], high, 0);
      a[side] = quads.first;
      a[2 + side] = quads.second;
    }
  }
}

template <typename Block>
__device__ SlabScale scale_of(const FragmentTile<Block>& tile, int i, int side) {
  const int shift = i % 2 * 16;
  const std::uint32_t min =
      kPacking<Block>.has_mins ? (word_of(tile.mins[side], i / 2) >> shift) & 0xffffu : 0u;
  return slab_scale<Block>((word_of(tile.scales[side], i / 2) >> shift) & 0xffffu, min,
                           kPacking<Block>.is_k ? tile.super[side] : 0u);
}

// products[side * 2 + column] of whole numbers, as f32. sums: of the two columns.
__device__ inline void multiply(const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                                const std::int32_t (&minus)[2], float (&products)[4]) {
  std::int32_t d[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) d[i] = kMagicBits + minus[i % 2];
  multiply_accumulate_bytes(d, a, b0, b1);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    products[i] = __uint_as_float(static_cast<unsigned>(d[i])) - kMagic;
  }
}

// sums[side * 2 + column] += slab i by the eight rows that begin at `first`.
template <typename Block, int kSets>
__device__ void multiply_slab(const StagedRows<kSets>& staged, int i, unsigned first, unsigned lane,
                              const Fragment& fragment, float (&sums)[4]) {
  constexpr Packing kType = kPacking<Block>;
  const unsigned g = lane / 4, t = lane % 4;
  const unsigned char* row = staged.codes[first + g] + i * kSlabValues + 4 * t;
  const std::uint32_t b0 = *reinterpret_cast<const std::uint32_t*>(row);
  const std::uint32_t b1 = *reinterpret_cast<const std::uint32_t*>(row + 16);
  const Q8Note notes[2] = {staged.notes[i][first + 2 * t], staged.notes[i][first + 2 * t + 1]};
  float products[4], second[4];
  if constexpr (kType.halves) {
    const std::int32_t minus_first[2] = {-kType.offset * notes[0].first_sum,
                                         -kType.offset * notes[1].first_sum};
    const std::int32_t minus_second[2] = {-kType.offset * (notes[0].sum - notes[0].first_sum),
                                          -kType.offset * (notes[1].sum - notes[1].first_sum)};
    multiply(fragment.a, b0, 0, minus_first, products);
    multiply(fragment.a, 0, b1, minus_second, second);
  } else {
    const std::int32_t minus[2] = {-kType.offset * notes[0].sum, -kType.offset * notes[1].sum};
    multiply(fragment.a, b0, b1, minus, products);
  }
#pragma unroll
  for (int at = 0; at < 4; ++at) {
    const SlabScale& scale = fragment.scales[at / 2];
    const Q8Note& note = notes[at % 2];
    if constexpr (kType.halves) {
      const float weighed = fmaf(scale.a[0], products[at], scale.a[1] * second[at]);
      sums[at] = fmaf(note.scale, weighed, sums[at]);
    } else {
      sums[at] = fmaf(scale.a[0] * note.scale, products[at], sums[at]);
      if constexpr (kHasMin<Block>) sums[at] = fmaf(scale.b, note.scaled_sum, sums[at]);
    }
  }
}

template <typename Block, int kSets>
__device__ void multiply_tile(const FragmentTile<Block>& tile, const StagedRows<kSets>& staged,
                              unsigned slabs, unsigned lane, float (&sums)[kSets][4]) {
#pragma unroll
  for (int i = 0; i < kGroupSlabs; ++i) {
    if (i >= static_cast<int>(slabs)) break;
    Fragment fragment;
    decode_fragment(tile, i, fragment.a);
    fragment.scales[0] = scale_of(tile, i, 0);
    fragment.scales[1] = scale_of(tile, i, 1);
#pragma unroll
    for (int set = 0; set < kSets; ++set) {
      multiply_slab<Block>(staged, i, set * 8u, lane, fragment, sums[set]);
    }
  }
}

// Whether the next tile's loads come before the current one is multiplied: where two tiles fit in
// the 128 registers with which two blocks of eight warps share a multiprocessor. Other tiles are
// larger or multiplied for longer, and the loads of other warps fill the pauses.
template <typename Block, int kSets>
inline constexpr bool kAhead = kSets == 1 && kPacking<Block>.bits == 4 && !kPacking<Block>.has_mins;

template <typename Block, int kSets, typename Outputs>
__global__ __launch_bounds__(kThreads, 2) void products(
    const __grid_constant__ QuantisedRowsOf<Outputs> job) {
  let_next_start();
  __shared__ float warp_sums[kMaxFewRowsWarps * kSets * 8 * kPanelOutputs];
  if constexpr (kIsGrouped<Outputs>) wait_for_previous();
  const auto place = panel_place(job.outputs);
  if (!has_work(place)) return;
  const ProductTarget& target = target_at(job.outputs, place);
  const unsigned rows = rows_at(job.outputs, place);
  const PackedPlanes planes = planes_of<Block>(target.out_features, job.in_features);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned warps = job.outputs.warps, step = job.outputs.parts * warps;
  const FragmentPlace at{static_cast<const unsigned char*>(target.weight), place.panel, lane / 4,
                         lane % 4};
  StagedRows<kSets>& staged = reinterpret_cast<StagedRows<kSets>*>(dynamic_shared())[warp];
  float sums[kSets][4] = {};
  unsigned group = part_at(job.outputs) * warps + warp;
  FragmentTile<Block> tile;
  if (kAhead<Block, kSets> && group < planes.groups) load_tile(at, planes, group, tile);
  if constexpr (!kIsGrouped<Outputs>) wait_for_previous();  // x comes from it; weights do not
  for (; group < planes.groups; group += step) {
    FragmentTile<Block> next{};
    if constexpr (kAhead<Block, kSets>) {
      if (group + step < planes.groups) load_tile(at, planes, group + step, next);
    } else {
      load_tile(at, planes, group, tile);
    }
    stage_rows(job, place, planes.slabs, group, lane, staged);
    __syncwarp();
    multiply_tile<Block>(tile, staged, planes.slabs - group * kGroupSlabs, lane, sums);
    __syncwarp();
    if constexpr (kAhead<Block, kSets>) tile = next;
  }
#pragma unroll
  for (int set = 0; set < kSets; ++set) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = set * 8 + lane % 4 * 2 + i % 2, output = lane / 4 + i / 2 * 8;
      if (row >= rows) continue;
      warp_sums[(warp * rows + row) * kPanelOutputs + output] = sums[set][i];
    }
  }
  finish_panel(job.outputs, place, target, warp_sums, warps);
}

// most_rows: of a block.
template <typename Outputs>
cudaError_t launch_products(StoredType type, int most_rows, const QuantisedRowsOf<Outputs>& job,
                            cudaStream_t stream) {
  return with_packable(type, cudaErrorInvalidValue, [&](auto block) -> cudaError_t {
    using Block = decltype(block);
    const auto with = [&](auto kernel, std::size_t staged_bytes) {
      return launch_shared(stream, grid_of(job.outputs), job.outputs.warps * 32,
                           job.outputs.warps * static_cast<unsigned>(staged_bytes), kernel, job);
    };
    return most_rows <= 8 ? with(products<Block, 1, Outputs>, sizeof(StagedRows<1>))
                          : with(products<Block, 2, Outputs>, sizeof(StagedRows<2>));
  });
}

}  // namespace

cudaError_t quantised_mma(StoredType type, const QuantisedRows& job, cudaStream_t stream) {
  return launch_products(type, static_cast<int>(job.outputs.rows), job, stream);
}

cudaError_t grouped_mma(const GroupedProduct& job, cudaStream_t stream) {
  QuantisedRowsOf<GroupedRows> rows;
  if (!plan_grouped_quantised(job, rows)) return cudaErrorInvalidValue;
  return launch_products(job.type, grouped_tile_rows(job.type, job.rows), rows, stream);
}

}  // namespace tandem::gpu_kernels
