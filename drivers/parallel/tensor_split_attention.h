// SPDX-License-Identifier: Apache-2.0
//
// TensorSplitAttention: an attention unit whose parts each have some of the heads.
//
// Part u of N has KV heads [u, u + 1) * kv_heads / N of every layer and token, and their query
// heads. A batch in host memory is cut into columns; results are assembled in wait(). If the parts
// work in the queues of a TensorSplitUnit, rows and results may be in its buffers: columns are then
// used in place, and nothing waits. Memory: a copy of the rows in flight. Threads, errors: as
// CompositeAttention; Error naming the numbers where heads do not divide.
#pragma once

#include <memory>
#include <vector>

#include "parallel/composite_attention.h"

namespace tandem::device::parallel {

class TensorSplitAttention final : public CompositeAttention {
 public:
  // units: each unit is made for its heads only.
  TensorSplitAttention(const AttentionGeometry& geometry,
                       std::vector<std::unique_ptr<AttentionUnit>> units,
                       std::shared_ptr<AddressBook> book = nullptr);
  ~TensorSplitAttention() override { drop_parts(); }  // they borrow the columns

  Ticket submit(const AttentionBatch& batch, AttentionPartial out) override;
  bool works_in_queue_of(const ComputeUnit& compute) const override;

 private:
  struct Columns {  // the columns of one part
    std::vector<float> q, k, v, o, lse;
  };
  struct Staged {
    std::vector<Columns> parts;
    bool in_use = false;
  };

  Staged& free_columns();
  void submit_columns(Flight& flight, const AttentionBatch& batch, AttentionPartial out);
  void submit_shards(Flight& flight, const AttentionBatch& batch, AttentionPartial out);

  std::vector<std::unique_ptr<Staged>> staged_;
};

// The slice of part `part` of `num_parts`. Throws Error if heads do not divide.
PageSlice head_slice(const AttentionGeometry& geometry, int part, int num_parts);

}  // namespace tandem::device::parallel
