// SPDX-License-Identifier: Apache-2.0
//
// CausalAttention: rounding into tiles, then query panels of one tile of tokens each.
#include "cpu/causal_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "common/error.h"
#include "cpu/kernels/attention/kv_rows.h"
#include "cpu/slices.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kKeySlots = kTileTokens;

bool is_stored(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kI8 || dtype == DType::kF8E4M3;
}

void round_row(DType dtype, const float* from, std::size_t count, float* to) {
  std::array<float, 256> stored;
  const float scale = narrow_kv(dtype, from, count, stored.data());
  widen_kv(dtype, stored.data(), scale, count, to);
}

bool all_finite(const float* values, std::size_t count) {
  float poison = 0.0f;
  for (std::size_t i = 0; i < count; ++i) poison += values[i] * 0.0f;
  return poison == 0.0f;
}

}  // namespace

CausalAttention::Operands CausalAttention::resolve(const CausalAttentionOp& op) const {
  if (op.kv_heads <= 0 || op.q_heads <= 0 || op.q_heads % op.kv_heads != 0) {
    throw Error("cpu", "causal attention: q_heads must be a multiple of kv_heads");
  }
  if (op.head_dim <= 0 || op.head_dim > 256) {
    throw Error("cpu", "causal attention: head_dim must be in 1..256");
  }
  if (!is_stored(op.kv_dtype)) {
    throw Error("cpu", "causal attention: kv_dtype must be f32, f16, bf16, i8 or f8_e4m3");
  }
  if (!(op.softcap >= 0.0f) || !std::isfinite(op.softcap)) {
    throw Error("cpu", "causal attention: softcap must be finite and not negative; 0 caps nothing");
  }
  if (op.window < 0) throw Error("cpu", "causal attention: window must not be negative");
  std::size_t rows = 0;
  for (const CausalChunk& chunk : op.chunks) {
    if (chunk.row_begin < 0 || chunk.num_rows < 0) {
      throw Error("cpu", "causal attention: a chunk has a negative row or count");
    }
    rows = std::max(rows, static_cast<std::size_t>(chunk.row_begin) + chunk.num_rows);
  }
  const std::size_t q_size = rows * op.q_heads * op.head_dim;
  const std::size_t kv_size = rows * op.kv_heads * op.head_dim;
  return {floats(op.q, q_size, "causal attention: q"), floats(op.k, kv_size, "causal attention: k"),
          floats(op.v, kv_size, "causal attention: v"), floats(op.o, q_size, "causal attention: o"),
          floats(op.lse, rows * op.q_heads, "causal attention: lse")};
}

void CausalAttention::plan(const CausalAttentionOp& op) {
  items_.clear();
  std::size_t tiles = 0;
  for (const CausalChunk& chunk : op.chunks) {
    const std::size_t in_chunk = (chunk.num_rows + kKeySlots - 1) / kKeySlots;
    for (std::size_t head = 0; head < static_cast<std::size_t>(op.kv_heads); ++head) {
      for (std::size_t tile = 0; tile < in_chunk; ++tile) {
        items_.push_back({&chunk, head, tile, tiles});
      }
      tiles += in_chunk;
    }
  }
  window_ = op.window == 0 ? std::numeric_limits<std::size_t>::max() : op.window;
  matrix_ = kKeySlots * ((static_cast<std::size_t>(op.head_dim) + 15) / 16 * 16);
  tiles_.assign(tiles * 2 * matrix_, 0.0f);
  finite_.assign(tiles, true);
}

void CausalAttention::run(const CausalAttentionOp& op) {
  const Operands at = resolve(op);
  plan(op);
  if (items_.empty()) return;
  if (items_.size() <=
      static_cast<std::size_t>(op.kv_heads)) {  // one short chunk: not worth a team
    for (const Item& item : items_) round_tile(op, at, item);
    for (const Item& item : items_) attend(op, at, item, panels_.front());
    return;
  }
  team_.run(items_.size(),
            [&](std::size_t item, std::size_t) { round_tile(op, at, items_[item]); });
  // Longest rows first, so that all workers finish at about the same time.
  team_.run(items_.size(), [&](std::size_t item, std::size_t worker) {
    attend(op, at, items_[items_.size() - 1 - item], panels_[worker]);
  });
}

void CausalAttention::round_tile(const CausalAttentionOp& op, const Operands& at,
                                 const Item& item) {
  const auto dim = static_cast<std::size_t>(op.head_dim);
  const std::size_t begin = item.tile * kKeySlots;
  const std::size_t end = std::min<std::size_t>(begin + kKeySlots, item.chunk->num_rows);
  float* k = tiles_.data() + (item.first_tile + item.tile) * 2 * matrix_;
  float* v = k + matrix_;
  std::array<float, 256> rounded;
  bool finite = true;
  for (std::size_t token = begin; token < end; ++token) {
    const std::size_t row = (item.chunk->row_begin + token) * op.kv_heads + item.kv_head;
    round_row(op.kv_dtype, at.k + row * dim, dim, rounded.data());
    for (std::size_t d = 0; d < dim; ++d) k[d * kKeySlots + token - begin] = rounded[d];
    round_row(op.kv_dtype, at.v + row * dim, dim, rounded.data());
    for (std::size_t d = 0; d < dim; ++d)
      v[v_index(matrix_ / kKeySlots, token - begin, d)] = rounded[d];
    finite = finite && all_finite(rounded.data(), dim);
  }
  finite_[item.first_tile + item.tile] = finite;
}

KvTile CausalAttention::tile(const Item& item, std::size_t index) const {
  const float* k = tiles_.data() + (item.first_tile + index) * 2 * matrix_;
  const std::size_t held = item.chunk->num_rows - index * kKeySlots;
  return {k, k + matrix_, nullptr, nullptr, 0, static_cast<int>(std::min(held, kKeySlots))};
}

// A tile of which the rows of the panel see different slots. A weight of 0 hides a slot from a row
// only if V is finite; else tokens are processed one by one.
void CausalAttention::attend_border(const CausalAttentionOp& op, const Item& item,
                                    std::size_t index, RowPanel& panel) {
  const auto group = static_cast<std::size_t>(op.q_heads / op.kv_heads);
  const std::size_t begin = item.tile * kKeySlots;
  const std::size_t count = std::min<std::size_t>(kKeySlots, item.chunk->num_rows - begin);
  std::vector<SlotRange>& seen = seen_[&panel - panels_.data()];
  seen.resize(count * group);
  const auto slot = [&](std::size_t token) {
    const std::size_t first = index * kKeySlots;
    return static_cast<int>(std::clamp(token, first, first + kKeySlots) - first);
  };
  for (std::size_t token = 0; token < count; ++token) {
    const std::size_t past = begin + token + 1;
    const SlotRange range{slot(past - std::min(past, window_)), slot(past)};
    std::fill_n(seen.begin() + token * group, group, range);
  }
  KvTile whole = tile(item, index);
  if (finite_[item.first_tile + index]) return panel.attend_seen(whole, seen.data());
  for (std::size_t token = 0; token < count; ++token) {
    whole.begin = seen[token * group].begin;
    whole.end = seen[token * group].end;
    panel.attend(DType::kF32, token * group, (token + 1) * group, {&whole, 1}, &whole);
  }
}

void CausalAttention::attend(const CausalAttentionOp& op, const Operands& at, const Item& item,
                             RowPanel& panel) {
  const auto dim = static_cast<std::size_t>(op.head_dim);
  const auto group = static_cast<std::size_t>(op.q_heads / op.kv_heads);
  const std::size_t begin = item.tile * kKeySlots;
  const std::size_t count = std::min<std::size_t>(kKeySlots, item.chunk->num_rows - begin);
  const std::size_t rows = count * group;
  // Row of q and o of a row of the panel, which counts (token, head within the group).
  const auto place = [&](std::size_t row) {
    const std::size_t token = item.chunk->row_begin + begin + row / group;
    return token * op.q_heads + item.kv_head * group + row % group;
  };
  panel.start(rows, dim, op.softcap);
  for (std::size_t row = 0; row < rows; ++row) {
    panel.set_query(row, at.q + place(row) * dim, op.scale);
  }
  // First tiles at the far end of the window, which only some rows see; then tiles that all rows
  // see; then the diagonal.
  std::size_t index = (begin + 1 - std::min(begin + 1, window_)) / kKeySlots;
  const std::size_t last = begin + count - std::min(begin + count, window_);
  for (; index < item.tile && index * kKeySlots < last; ++index)
    attend_border(op, item, index, panel);
  while (index < item.tile) {
    KvTile tiles[kMaxTiles];
    const std::size_t past = std::min<std::size_t>(kMaxTiles, item.tile - index);
    for (std::size_t i = 0; i < past; ++i) tiles[i] = tile(item, index + i);
    panel.attend(DType::kF32, 0, rows, {tiles, past}, tiles);
    index += past;
  }
  attend_border(op, item, item.tile, panel);
  for (std::size_t row = 0; row < rows; ++row) {
    panel.finish(row, at.o + place(row) * dim, at.lse + place(row));
  }
}

}  // namespace tandem::device::cpu
