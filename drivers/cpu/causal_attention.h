// SPDX-License-Identifier: Apache-2.0
//
// CausalAttention: CausalAttentionOp on a team of threads, in tiles; the scores are never stored as
// a whole.
//
// First K and V of every chunk are rounded to the KV type and stored as f32 tiles
// (kernels/attention/attention_block.h). Then each (chunk, KV head, 16 query tokens) processes its
// tiles: first tiles that all its rows see, then tiles at the border, where slots are hidden per
// row. Tiles before every window are not read. Memory: one f32 per K and V value of a call.
// Threads: one caller.
#pragma once

#include <vector>

#include "cpu/row_panel.h"
#include "cpu/team.h"
#include "device/compute_unit.h"

namespace tandem::device::cpu {

class CausalAttention {
 public:
  explicit CausalAttention(Team& team) : team_(team), panels_(team.size()), seen_(team.size()) {}

  // Throws Error on shapes that do not fit.
  void run(const CausalAttentionOp& op);

 private:
  struct Operands {
    const float *q = nullptr, *k = nullptr, *v = nullptr;
    float *o = nullptr, *lse = nullptr;
  };
  struct Item {  // one tile of tokens of one chunk and KV head
    const CausalChunk* chunk = nullptr;
    std::size_t kv_head = 0;
    std::size_t tile = 0;
    std::size_t first_tile = 0;  // index in tiles_ of the first tile of the chunk and head
  };

  Operands resolve(const CausalAttentionOp& op) const;
  void plan(const CausalAttentionOp& op);
  void round_tile(const CausalAttentionOp& op, const Operands& at, const Item& item);
  void attend(const CausalAttentionOp& op, const Operands& at, const Item& item, RowPanel& panel);
  void attend_border(const CausalAttentionOp& op, const Item& item, std::size_t index,
                     RowPanel& panel);
  KvTile tile(const Item& item, std::size_t index) const;

  Team& team_;
  std::vector<RowPanel> panels_;  // one per worker
  // [workers][rows of the panel]: the slots that a row sees
  std::vector<std::vector<SlotRange>> seen_;
  std::vector<Item> items_;
  std::size_t matrix_ = 0;    // values of one tile's K or V
  std::size_t window_ = 0;    // how many rows a row sees at most
  std::vector<float> tiles_;  // [tiles][K | V]
  std::vector<char> finite_;  // [tiles]: whether all values of V are finite
};

}  // namespace tandem::device::cpu
