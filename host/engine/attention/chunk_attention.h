// SPDX-License-Identifier: Apache-2.0
//
// ChunkAttention: the causal part of attention inside a chunk of rows, on the compute unit. It is
// one more partial, because attention units have no mask.
//
// Threads: the engine's. Ownership: owns its result buffers. Errors: those of the compute unit.
#pragma once

#include <memory>

#include "engine/attention/attention_lane.h"

namespace tandem::engine {

class ChunkAttention {
 public:
  explicit ChunkAttention(const LaneContext& context);

  // Enqueues the chunks of a place, if it has any.
  void attend(const LaneStep& step, const StepPlace& place);

  // The results of the step's rows from `first_row` on.
  device::Slice o(std::size_t first_row) const { return row(o_, first_row, context_.q_width); }
  device::Slice lse(std::size_t first_row) const { return row(lse_, first_row, context_.q_heads); }

 private:
  const LaneContext& context_;
  std::unique_ptr<device::Buffer> o_, lse_;  // [max_rows, q_heads, head_dim], [max_rows, q_heads]
};

}  // namespace tandem::engine
