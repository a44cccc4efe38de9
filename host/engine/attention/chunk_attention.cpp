// SPDX-License-Identifier: Apache-2.0
//
// One operation for all chunks of a place.
#include "engine/attention/chunk_attention.h"

namespace tandem::engine {

ChunkAttention::ChunkAttention(const LaneContext& context) : context_(context) {
  const auto rows = static_cast<std::size_t>(context.options.max_rows);
  device::ComputeUnit& unit = context.queue.unit();
  o_ = allocate_floats(unit, rows, context.q_width, device::MemoryKind::kDevice);
  lse_ = allocate_floats(unit, rows, context.q_heads, device::MemoryKind::kDevice);
}

void ChunkAttention::attend(const LaneStep& step, const StepPlace& place) {
  const AttentionLayout& layout = step.layout(place);
  if (layout.chunks.empty()) return;
  const std::size_t begin = step.first_row[place.sub_batch];
  const RowBuffers& rows = step.lent->rows;
  device::CausalAttentionOp op;
  op.chunks = layout.chunks;
  op.q_heads = context_.config.q_heads;
  op.kv_heads = context_.config.kv_heads;
  op.head_dim = context_.config.head_dim;
  op.scale = context_.config.attention_scale;
  op.softcap = context_.config.attention_softcap;
  op.window = step.windows->of(place.layer);
  op.kv_dtype = context_.options.kv_dtype;
  op.q = row(rows.q, begin, context_.q_width);
  op.k = row(rows.k, begin, context_.kv_width);
  op.v = row(rows.v, begin, context_.kv_width);
  op.o = o(begin);
  op.lse = lse(begin);
  context_.queue.enqueue(op);
}

}  // namespace tandem::engine
