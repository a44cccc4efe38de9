// SPDX-License-Identifier: Apache-2.0
//
// Tiles of all sequences, those with the most keys first, and the places of rows in the workspace.
#include "attention/prefill_plan.h"

#include <algorithm>

namespace tandem::gpu_kernels {
namespace {

constexpr int kWorkspacePageTokens = 256;
constexpr int kBlockBytes = 163 * 1024;        // of sm_80
constexpr int kHopperBlockBytes = 227 * 1024;  // of sm_90

std::size_t align(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

bool is_shape(const PrefillShape& shape) {
  const bool heads = shape.kv_heads > 0 && shape.q_heads > 0 &&
                     shape.q_heads % shape.kv_heads == 0 && shape.kv_heads < 65536;
  const bool sixteen_bits = !shape.unrounded && !has_scales(shape.type);
  const bool pages = shape.page_tokens >= 16 && shape.page_tokens <= 256 &&
                     (shape.page_tokens & (shape.page_tokens - 1)) == 0;
  const bool paged = pages && shape.window == 0 && !shape.unrounded;
  return heads && kv_row_values(shape.head_dim) > 0 && shape.window >= 0 &&
         (shape.exact || sixteen_bits) && (shape.page_tokens == 0 || paged);
}

int tile_rows_of(const PrefillBucket& bucket) {
  if (bucket.shape.path == KernelPath::kHopper) return kHopperTileRows;
  return prefill_tile_rows(kv_row_values(bucket.shape.head_dim), bucket.shape.exact);
}

bool takes_hopper(const PrefillShape& shape) {
  const int width = kv_row_values(shape.head_dim);
  const auto room =
      static_cast<std::size_t>(shape.block_bytes > 0 ? shape.block_bytes : kHopperBlockBytes);
  return shape.path == KernelPath::kHopper && !shape.unrounded && !has_scales(shape.type) &&
         (width == 64 || width == 128) && prefill_hopper_block_bytes(width, shape.exact) <= room;
}

// 0 if no block has room for a tile.
int tile_keys_of(const PrefillShape& shape) {
  const int width = kv_row_values(shape.head_dim);
  const int value_bytes = shape.unrounded ? 4 : value_bytes_of(shape.type);
  const auto room =
      static_cast<std::size_t>(shape.block_bytes > 0 ? shape.block_bytes : kBlockBytes);
  const int keys = prefill_tile_keys(value_bytes, width, shape.exact);
  if (prefill_block_bytes(value_bytes, width, shape.exact, keys) <= room) return keys;
  const bool fits = has_narrow_tiles(value_bytes, width, shape.exact) &&
                    prefill_block_bytes(value_bytes, width, shape.exact, keys / 2) <= room;
  return fits ? keys / 2 : 0;
}

std::size_t places_at(const PrefillBucket& bucket) {
  return align(static_cast<std::size_t>(bucket.num_tiles) * sizeof(PrefillTile));
}

bool has_places(const PrefillShape& shape) { return shape.page_tokens == 0 && !shape.unrounded; }

std::int32_t round_up(std::int32_t value, std::int32_t unit) {
  return (value + unit - 1) / unit * unit;
}

// The keys that the rows [first, past) of a causal chunk see.
void set_causal_range(int window, std::int32_t first, std::int32_t past, PrefillTile& tile) {
  tile.kv_begin = window == 0 ? 0 : std::max(0, first + 1 - window);
  tile.kv_end = past;
}

// Appends the tiles of a sequence; false when there is no room.
bool add_tiles(const PrefillBucket& bucket, const PrefillSequence& sequence, std::int32_t origin,
               std::span<PrefillTile> tiles, std::size_t& num_tiles) {
  const PrefillShape& shape = bucket.shape;
  const std::int32_t group = shape.q_heads / shape.kv_heads;
  const std::int32_t tile_rows = tile_rows_of(bucket);
  const std::int64_t all = std::int64_t{sequence.num_q} * group;
  if (all > INT32_MAX - tile_rows) return false;
  for (std::int32_t first = 0; first < all; first += tile_rows) {
    if (num_tiles == tiles.size()) return false;
    PrefillTile& tile = tiles[num_tiles++];
    tile = {sequence.q_begin, sequence.num_q, first, 0, 0, origin};
    if (shape.page_tokens == 0) {
      const auto last =
          static_cast<std::int32_t>(std::min<std::int64_t>(first + tile_rows, all)) - 1;
      set_causal_range(shape.window, first / group, last / group + 1, tile);
    } else {
      tile.kv_begin = sequence.attend_begin;
      tile.kv_end = std::max(sequence.attend_begin, sequence.num_attend);
    }
  }
  return true;
}

}  // namespace

PrefillBucket make_prefill_bucket(const PrefillShape& shape, int max_sequences, int max_rows) {
  PrefillBucket bucket{.shape = shape, .max_rows = max_rows};
  if (!is_shape(shape) || max_sequences < 1 || max_rows < 1) return bucket;
  const bool is_hopper = takes_hopper(shape);
  bucket.shape.path = is_hopper ? KernelPath::kHopper : KernelPath::kGeneric;
  bucket.tile_keys = is_hopper ? kHopperTileKeys : tile_keys_of(shape);
  if (bucket.tile_keys == 0) return bucket;
  const std::int64_t group = shape.q_heads / shape.kv_heads;
  const std::int64_t tiles = max_rows * group / tile_rows_of(bucket) + max_sequences;
  if (tiles > INT32_MAX) return bucket;
  bucket.num_tiles = static_cast<int>(tiles);
  bucket.plan_bytes = places_at(bucket);
  if (has_places(shape)) {
    bucket.plan_bytes += align(static_cast<std::size_t>(max_rows) * sizeof(KvPlace));
    const std::int64_t apart = is_hopper ? kHopperChunkRows - 1 : 0;
    const std::int64_t rows = max_rows + apart * std::min(max_sequences, max_rows);
    if (rows > INT32_MAX) return PrefillBucket{.shape = shape, .max_rows = max_rows};
    bucket.workspace_rows = static_cast<int>(rows);
    const KvPool pool = workspace_pool(bucket, nullptr);
    bucket.workspace_bytes = kv_values_bytes(pool) + kv_scales_bytes(pool);
  }
  return bucket;
}

bool plan_prefill(const PrefillBucket& bucket, std::span<const PrefillSequence> sequences,
                  std::span<std::byte> plan) {
  if (plan.size() < bucket.plan_bytes || bucket.num_tiles == 0) return false;
  const std::span<PrefillTile> tiles(reinterpret_cast<PrefillTile*>(plan.data()),
                                     static_cast<std::size_t>(bucket.num_tiles));
  std::size_t num_tiles = 0;
  std::int64_t num_rows = 0;
  const std::int32_t chunk_rows = bucket.shape.path == KernelPath::kHopper ? kHopperChunkRows : 1;
  std::int32_t next_origin = 0;
  KvPlace* places = reinterpret_cast<KvPlace*>(plan.data() + places_at(bucket));
  for (const PrefillSequence& sequence : sequences) {
    if (sequence.num_q < 0 || sequence.q_begin < 0 || sequence.attend_begin < 0) return false;
    if (num_rows + sequence.num_q > bucket.max_rows) return false;
    std::int32_t origin = sequence.page_begin;
    if (bucket.shape.unrounded) origin = sequence.q_begin;
    if (has_places(bucket.shape)) {
      origin = next_origin;
      for (std::int32_t row = 0; row < sequence.num_q; ++row) {
        const std::int32_t at = origin + row;
        places[num_rows + row] = {static_cast<std::uint32_t>(at / kWorkspacePageTokens),
                                  at % kWorkspacePageTokens, sequence.q_begin + row};
      }
      next_origin += round_up(sequence.num_q, chunk_rows);
    }
    if (!add_tiles(bucket, sequence, origin, tiles, num_tiles)) return false;
    num_rows += sequence.num_q;
  }
  std::fill(tiles.begin() + static_cast<std::ptrdiff_t>(num_tiles), tiles.end(), PrefillTile{});
  if (has_places(bucket.shape)) std::fill(places + num_rows, places + bucket.max_rows, KvPlace{});
  std::sort(tiles.begin(), tiles.begin() + static_cast<std::ptrdiff_t>(num_tiles),
            [](const PrefillTile& a, const PrefillTile& b) {
              const std::int32_t a_keys = a.kv_end - a.kv_begin, b_keys = b.kv_end - b.kv_begin;
              if (a_keys != b_keys) return a_keys > b_keys;
              return a.q_begin != b.q_begin ? a.q_begin < b.q_begin : a.first < b.first;
            });
  return true;
}

PrefillPlanView view_prefill_plan(const PrefillBucket& bucket, const void* plan) {
  const auto* bytes = static_cast<const std::byte*>(plan);
  return {reinterpret_cast<const PrefillTile*>(bytes),
          reinterpret_cast<const KvPlace*>(bytes + places_at(bucket))};
}

KvPool workspace_pool(const PrefillBucket& bucket, void* workspace) {
  KvPool pool;
  pool.type = bucket.shape.type;
  pool.num_layers = 1;
  pool.kv_heads = bucket.shape.kv_heads;
  pool.head_dim = bucket.shape.head_dim;
  pool.page_tokens = kWorkspacePageTokens;
  pool.num_pages = static_cast<std::uint32_t>((bucket.workspace_rows + kWorkspacePageTokens - 1) /
                                              kWorkspacePageTokens);
  pool.values = workspace;
  if (workspace != nullptr && has_scales(pool.type)) {
    pool.scales =
        reinterpret_cast<float*>(static_cast<std::byte*>(workspace) + kv_values_bytes(pool));
  }
  return pool;
}

}  // namespace tandem::gpu_kernels
