// SPDX-License-Identifier: Apache-2.0
//
// ChunkAttention: attention among the rows of a prefill chunk, under the causal mask, on the
// compute unit. Attention units have no mask, so their results leave these rows out. The result is
// one more partial (O, LSE), merged with those of the attention units.
//
// Threads: the engine's. Ownership: owns its result buffers; `context` outlives it. Errors: those
// of the compute unit.
#pragma once

#include <memory>

#include "engine/attention/attention_lane.h"

namespace tandem::engine {

class ChunkAttention {
 public:
  explicit ChunkAttention(const LaneContext& context);

  // Enqueues attention for the chunks of one layer and sub-batch. Does nothing if there are none.
  void attend(const LaneStep& step, const StepPlace& place);

  // The results of the step's rows from `first_row` on.
  device::Slice o(std::size_t first_row) const { return row(o_, first_row, context_.q_width); }
  device::Slice lse(std::size_t first_row) const { return row(lse_, first_row, context_.q_heads); }

 private:
  const LaneContext& context_;
  std::unique_ptr<device::Buffer> o_, lse_;  // [max_rows, q_heads, head_dim], [max_rows, q_heads]
};

}  // namespace tandem::engine
