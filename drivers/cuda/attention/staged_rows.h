// SPDX-License-Identifier: Apache-2.0
//
// StagedRows: copies the rows of one attention batch to the GPU and its results back, for memory
// that the GPU cannot address.
//
// begin() copies q, k and v to pinned memory and enqueues one copy to the device. end() enqueues
// the copy of the results back. finish(), called after the queue has passed it, moves the results
// of the batch's sequences to their places; other rows do not change. Ownership: borrows the spans
// between begin() and finish(). Memory: pinned and device memory for the largest batch so far;
// Error if it cannot be allocated. Threads: the submitting thread.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/attention/attention_plan.h"
#include "cuda/gpu/gpu.h"
#include "device/attention_unit.h"

namespace tandem::cuda {

class StagedRows {
 public:
  explicit StagedRows(Gpu& gpu) : gpu_(gpu) {}

  // Allocates memory for the batch. Call it before planning, because it may have to wait.
  void reserve(const device::AttentionGeometry& geometry, const device::AttentionBatch& batch);
  AttentionRows begin(const device::AttentionBatch& batch);
  void end(const device::AttentionBatch& batch, const device::AttentionPartial& out);
  void finish();
  // In place of finish(), once the queue has ended: drops the results.
  void abandon() { is_free_ = true; }

  bool is_free() const { return is_free_; }
  std::size_t bytes_in() const { return bytes_in_; }
  std::size_t bytes_out() const { return bytes_out_; }

 private:
  struct Answered {
    std::size_t row, count;
  };

  Gpu& gpu_;
  bool is_free_ = true;
  std::size_t q_row_ = 0, heads_ = 0;
  std::size_t k_at_ = 0, v_at_ = 0, o_at_ = 0, lse_at_ = 0;  // floats, in both memories
  std::size_t bytes_in_ = 0, bytes_out_ = 0;
  PoolRange host_, device_;
  device::AttentionPartial out_;
  std::vector<Answered> answered_;
};

}  // namespace tandem::cuda
