// SPDX-License-Identifier: Apache-2.0
//
// CausalAttention: rounding into tiles, then query panels of one tile of tokens each.
#include "cpu/causal_attention.h"

#include <algorithm>
#include <array>

#include "common/error.h"
#include "cpu/kernels/rows.h"
#include "cpu/slices.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kSlots = kTileTokens;

// to may be from.
void round_row(DType dtype, const float* from, std::size_t count, float* to) {
  if (dtype == DType::kF16) {
    std::array<std::uint16_t, 256> half;
    to_f16(from, count, half.data());
    from_f16(half.data(), count, to);
  } else if (dtype == DType::kI8) {
    std::array<std::int8_t, 256> bytes;
    const float scale = to_i8(from, count, bytes.data());
    from_i8(bytes.data(), scale, count, to);
  } else {
    std::copy_n(from, count, to);
  }
}

}  // namespace

CausalAttention::Operands CausalAttention::resolve(const CausalAttentionOp& op) const {
  if (op.kv_heads <= 0 || op.q_heads <= 0 || op.q_heads % op.kv_heads != 0) {
    throw Error("cpu", "causal attention: q_heads must be a multiple of kv_heads");
  }
  if (op.head_dim <= 0 || op.head_dim > 256) {
    throw Error("cpu", "causal attention: head_dim must be in 1..256");
  }
  if (op.kv_dtype != DType::kF32 && op.kv_dtype != DType::kF16 && op.kv_dtype != DType::kI8) {
    throw Error("cpu", "causal attention: kv_dtype must be f32, f16 or i8");
  }
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
    const std::size_t in_chunk = (chunk.num_rows + kSlots - 1) / kSlots;
    for (std::size_t head = 0; head < static_cast<std::size_t>(op.kv_heads); ++head) {
      for (std::size_t tile = 0; tile < in_chunk; ++tile) {
        items_.push_back({&chunk, head, tile, tiles});
      }
      tiles += in_chunk;
    }
  }
  matrix_ = kSlots * ((static_cast<std::size_t>(op.head_dim) + 15) / 16 * 16);
  tiles_.assign(tiles * 2 * matrix_, 0.0f);
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
  // The longest rows first, so that the team ends together.
  team_.run(items_.size(), [&](std::size_t item, std::size_t worker) {
    attend(op, at, items_[items_.size() - 1 - item], panels_[worker]);
  });
}

void CausalAttention::round_tile(const CausalAttentionOp& op, const Operands& at,
                                 const Item& item) {
  const auto dim = static_cast<std::size_t>(op.head_dim);
  const std::size_t begin = item.tile * kSlots;
  const std::size_t end = std::min<std::size_t>(begin + kSlots, item.chunk->num_rows);
  float* k = tiles_.data() + (item.first_tile + item.tile) * 2 * matrix_;
  float* v = k + matrix_;
  std::array<float, 256> rounded;
  for (std::size_t token = begin; token < end; ++token) {
    const std::size_t row = (item.chunk->row_begin + token) * op.kv_heads + item.kv_head;
    round_row(op.kv_dtype, at.k + row * dim, dim, rounded.data());
    for (std::size_t d = 0; d < dim; ++d) k[d * kSlots + token - begin] = rounded[d];
    round_row(op.kv_dtype, at.v + row * dim, dim, rounded.data());
    for (std::size_t d = 0; d < dim; ++d)
      v[v_index(matrix_ / kSlots, token - begin, d)] = rounded[d];
  }
}

KvTile CausalAttention::tile(std::size_t index, int tokens) const {
  const float* k = tiles_.data() + index * 2 * matrix_;
  return {k, k + matrix_, nullptr, nullptr, tokens};
}

void CausalAttention::attend(const CausalAttentionOp& op, const Operands& at, const Item& item,
                             RowPanel& panel) {
  const auto dim = static_cast<std::size_t>(op.head_dim);
  const auto group = static_cast<std::size_t>(op.q_heads / op.kv_heads);
  const std::size_t begin = item.tile * kSlots;
  const std::size_t count = std::min<std::size_t>(kSlots, item.chunk->num_rows - begin);
  const std::size_t rows = count * group;
  // Row of q and o of a row of the panel, which counts (token, head within the group).
  const auto place = [&](std::size_t row) {
    const std::size_t token = item.chunk->row_begin + begin + row / group;
    return token * op.q_heads + item.kv_head * group + row % group;
  };
  panel.start(rows, dim);
  for (std::size_t row = 0; row < rows; ++row) {
    panel.set_query(row, at.q + place(row) * dim, op.scale);
  }
  for (std::size_t first = 0; first < item.tile; first += kMaxTiles) {
    KvTile tiles[kMaxTiles];
    const std::size_t past = std::min<std::size_t>(kMaxTiles, item.tile - first);
    for (std::size_t i = 0; i < past; ++i) tiles[i] = tile(item.first_tile + first + i, kSlots);
    panel.attend(DType::kF32, 0, rows, tiles, static_cast<int>(past), nullptr);
  }
  for (std::size_t token = 0; token < count; ++token) {
    const KvTile diagonal = tile(item.first_tile + item.tile, static_cast<int>(token) + 1);
    panel.attend(DType::kF32, token * group, (token + 1) * group, &diagonal, 1, nullptr);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    panel.finish(row, at.o + place(row) * dim, at.lse + place(row));
  }
}

}  // namespace tandem::device::cpu
