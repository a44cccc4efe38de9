// SPDX-License-Identifier: Apache-2.0
//
// TensorSplitUnit: operations on heads, each on the unit that has them.
#include <algorithm>
#include <vector>

#include "common/error.h"
#include "device/extents.h"
#include "parallel/tensor_split_unit.h"

namespace tandem::device::parallel {

void TensorSplitUnit::handle(const RopeOp& op) {
  std::vector<bool> by_columns;
  for (const RopeTarget& target : op.targets) {
    const std::int64_t width = std::int64_t{target.heads} * op.head_dim;
    by_columns.push_back(in_shards(target.x, op.rows, width));
    if (by_columns.back()) {
      share_of(target.heads, "heads");
      mark_shards(target.x, op.rows, width);
    } else {
      make_whole(target.x, float_bytes(op.rows, width));
    }
  }
  for (int unit = 0; unit < group_.size(); ++unit) {
    std::vector<RopeTarget> targets;
    for (std::size_t i = 0; i < op.targets.size(); ++i) {
      RopeTarget local = op.targets[i];
      const std::int64_t width = std::int64_t{local.heads} * op.head_dim;
      if (local.norm != nullptr) local.norm = weight_of(local.norm, "rope: a norm").share(unit);
      if (by_columns[i]) {
        local.x = shard(unit, local.x);
        local.heads /= group_.size();
      } else if (writes(unit, local.x)) {
        local.x = write(unit, local.x, float_bytes(op.rows, width));
      } else {
        continue;
      }
      targets.push_back(local);
    }
    if (targets.empty()) continue;
    RopeOp local = op;
    local.targets = targets;
    group_.enqueue(unit, local);
  }
}

void TensorSplitUnit::handle(const CausalAttentionOp& op) {
  CausalAttentionOp local = op;
  local.q_heads = static_cast<int>(share_of(op.q_heads, "query heads"));
  local.kv_heads = static_cast<int>(share_of(op.kv_heads, "key and value heads"));
  const std::int64_t rows = end_row(op.chunks);
  const std::int64_t q_width = std::int64_t{op.q_heads} * op.head_dim;
  const std::int64_t kv_width = std::int64_t{op.kv_heads} * op.head_dim;
  make_shards(op.q, rows, q_width);
  make_shards(op.k, rows, kv_width);
  make_shards(op.v, rows, kv_width);
  for (const CausalChunk& chunk : op.chunks) {
    const auto mark = [&](Slice slice, std::int64_t width) {
      slice.offset_bytes += float_bytes(chunk.row_begin, width);
      mark_shards(slice, chunk.num_rows, width);
    };
    mark(op.o, q_width);
    mark(op.lse, op.q_heads);
  }
  for (int unit = 0; unit < group_.size(); ++unit) {
    local.q = shard(unit, op.q);
    local.k = shard(unit, op.k);
    local.v = shard(unit, op.v);
    local.o = shard(unit, op.o);
    local.lse = shard(unit, op.lse);
    group_.enqueue(unit, local);
  }
}

void TensorSplitUnit::handle(const MergeOp& op) {
  MergeOp local = op;
  local.heads = static_cast<int>(share_of(op.heads, "heads"));
  const std::int64_t width = std::int64_t{op.heads} * op.head_dim;
  for (const MergePartial& partial : op.partials) {
    const std::int64_t rows = end_row(partial.rows);
    make_shards(partial.o, rows, width);
    make_shards(partial.lse, rows, op.heads);
  }
  mark_shards(op.out, op.rows, width);
  for (int unit = 0; unit < group_.size(); ++unit) {
    std::vector<MergePartial> partials(op.partials.begin(), op.partials.end());
    for (MergePartial& partial : partials) {
      partial.o = shard(unit, partial.o);
      partial.lse = shard(unit, partial.lse);
    }
    local.partials = partials;
    local.out = shard(unit, op.out);
    group_.enqueue(unit, local);
  }
}

}  // namespace tandem::device::parallel
