// SPDX-License-Identifier: Apache-2.0
//
// Distributes attention of many query rows over the blocks of a GPU. Pure functions on the host.
//
// The work of a sequence is cut by KV head and into tiles of 64 query heads (128 if it is not exact
// and head_dim is at most 128, and on the Hopper path). One read of K and V serves all heads of a
// group. Tiles are independent. Those with the most keys come first, so that blocks end together. A
// tile and its bits depend on its own sequence only. Keys are not split among blocks, so few rows
// over long sequences would leave most of a GPU idle: decode_plan.h serves up to 8 rows. Units:
// rows of q, tokens; sizes in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/kernel_path.h"
#include "kv_cache/append.h"

namespace tandem::gpu_kernels {

struct PrefillShape {
  KvType type = KvType::kF16;
  // causal only: k and v are used in f32, without rounding; `type` is ignored
  bool unrounded = false;
  int q_heads = 0;  // a multiple of kv_heads
  int kv_heads = 0;
  int head_dim = 0;     // 1..256
  int window = 0;       // causal only: tokens that a row sees, with its own; 0: all before it
  bool exact = true;    // false: q and probabilities are rounded to f16 or bf16 (16-bit types only)
  int page_tokens = 0;  // paged only: as in KvPool
  int block_bytes = 0;  // shared memory that the device gives to a block; 0: 163 KiB
  KernelPath path = KernelPath::kGeneric;
};

// Query heads of a tile; row_values as of kv_row_values().
constexpr int prefill_tile_rows(int row_values, bool exact) {
  return exact || row_values > 128 ? 64 : 128;
}

// Keys of a tile in shared memory; value_bytes as stored (4: unrounded).
constexpr int prefill_tile_keys(int value_bytes, int row_values, bool exact) {
  const int keys = row_values * prefill_tile_rows(row_values, exact) <= 128 * 64 ? 64 : 32;
  return value_bytes == 4 ? keys / 2 : keys;
}
// Some devices have too little shared memory per block. For these there are kernels with half as
// many keys, for the shapes below.
constexpr bool has_narrow_tiles(int value_bytes, int row_values, bool exact) {
  return exact && value_bytes < 4 && row_values == 128;
}
// Shared memory of a block (prefill_tiles.cuh).
constexpr std::size_t prefill_block_bytes(int value_bytes, int row_values, bool exact, int keys) {
  const int rows = prefill_tile_rows(row_values, exact), stride = 2 * (row_values + 8);
  const int tiles = value_bytes == 1 ? 2 : 4;  // of K and V: two buffers, or two parts
  int bytes = (exact ? 2 : 1) * rows * stride + tiles * keys * stride;
  bytes += value_bytes == 1 ? 4 * keys * row_values : 16;
  bytes += rows * 12 + 24 + keys * 48;  // factors, seen; the tile; rows and scales
  bytes += row_values * 8 + rows * ((row_values + 31) / 32) * 4;
  return static_cast<std::size_t>((bytes + 15) / 16 * 16);
}

// The Hopper path (prefill_hopper.cuh) takes 16-bit types with rows of 64 or 128 values.
constexpr int kHopperTileRows = 128, kHopperTileKeys = 128;
constexpr std::size_t prefill_hopper_block_bytes(int row_values, bool exact) {
  const int groups = row_values / 64, group_bytes = 128 * kHopperTileRows;
  const int operands = ((exact ? 2 : 1) + 2 * 2) * groups * group_bytes;  // q; K, V: two buffers
  const int rows = kHopperTileRows * (12 + groups * 8);                   // factors, seen; marks
  return static_cast<std::size_t>(operands + rows + 80 + 1024 - 16);
}
// A chunk begins at a multiple of this many rows of the workspace.
constexpr std::int32_t kHopperChunkRows = 16;

// The rows of one sequence: rows q_begin .. q_begin + num_q - 1 of q, o and lse.
struct PrefillSequence {
  std::int32_t q_begin = 0, num_q = 0;
  // Paged only: all rows see tokens [attend_begin, num_attend) of the pages from page_begin on; an
  // empty range gives O = 0, LSE = -inf.
  std::int32_t page_begin = 0;  // into the page list; page i holds tokens i * page_tokens ..
  std::int32_t attend_begin = 0, num_attend = 0;
};

// The shape of a launch. A plan is data behind a pointer, so a CUDA graph captured for a bucket
// serves every batch that fits.
struct PrefillBucket {
  PrefillShape shape;
  int max_rows = 0;   // upper bound of the rows of all sequences of a batch
  int num_tiles = 0;  // tiles of the launch per KV head
  int tile_keys = 0;
  int workspace_rows = 0;  // causal only: tokens of the workspace's pages
  std::size_t plan_bytes = 0;
  std::size_t workspace_bytes = 0;  // k and v of workspace_rows rows as pages store them
};

// num_tiles is 0 in the result if no kernel takes the shape, or if a block needs more than
// block_bytes. The result's shape.path is the path of its launches: the generic one if the Hopper
// path does not take the shape or lacks shared memory. A bucket is for causal_attention()
// (page_tokens 0) or for paged_attention().
PrefillBucket make_prefill_bucket(const PrefillShape& shape, int max_sequences, int max_rows);

// Writes the plan into `plan` [plan_bytes]: host memory, aligned to 16. The caller copies it to
// device memory of the same alignment. A plan is valid for all layers with the bucket's window.
// False if the batch does not fit the bucket. Cost: O(tiles log tiles).
bool plan_prefill(const PrefillBucket& bucket, std::span<const PrefillSequence> sequences,
                  std::span<std::byte> plan);

// A plan holds tiles [num_tiles]. Causal buckets also have places [max_rows]: where the rows of k
// and v are in the workspace. Tile row r of a KV head is query head kv_head * G + r % G of the
// sequence's row r / G, where G = q_heads / kv_heads.
struct PrefillTile {
  std::int32_t q_begin = 0, num_q = 0;    // rows of the tile's sequence; num_q 0: nothing to do
  std::int32_t first = 0;                 // first tile row, counted over the whole sequence
  std::int32_t kv_begin = 0, kv_end = 0;  // tokens that the tile reads
  // Paged: as in PrefillSequence. Causal: row of the chunk's first token in the workspace, or of k
  // and v when unrounded.
  std::int32_t origin = 0;
};
struct PrefillPlanView {
  const PrefillTile* tiles;
  const KvPlace* places;
};
PrefillPlanView view_prefill_plan(const PrefillBucket& bucket, const void* plan);

// The workspace of a causal bucket as a pool of one layer.
KvPool workspace_pool(const PrefillBucket& bucket, void* workspace);

}  // namespace tandem::gpu_kernels
