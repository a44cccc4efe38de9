// SPDX-License-Identifier: Apache-2.0
//
// AttentionPlanner: chooses the launches for a batch of attention, and makes the arrays that they
// read.
//
// Sequences of at most kMostDecodeRows query rows go to attention/decode_plan.h, longer ones to
// attention/prefill_plan.h. Shared leading pages are attended to once (attention/cascade_plan.h)
// when the rows fill the batch. A plan is kept while its arrays are in the queue's open sequence,
// so all layers of a step share it. Launch sizes are rounded up (queue/buckets.h), so nearby
// lengths give equal launch records. Threads: the submitting thread. Errors: those of check_batch
// and Queue::begin(), before anything is enqueued.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/cascade_plan.h"
#include "attention/decode_plan.h"
#include "attention/merge.h"
#include "attention/prefill_plan.h"
#include "cuda/gpu/gpu.h"
#include "cuda/queue/buckets.h"
#include "device/attention_unit.h"
#include "kv_cache/append.h"

namespace tandem::cuda {

inline constexpr int kMostDecodeRows = 8;

// The rows of a batch, in memory that the GPU reads: q and o [rows, q_heads, head_dim], k and v
// [new rows, kv_heads, head_dim], lse [rows, q_heads].
struct AttentionRows {
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  float *o = nullptr, *lse = nullptr;
};

// One pass of decode attention.
struct PlannedDecode {
  const gpu_kernels::DecodeBucket* bucket = nullptr;  // null: there is none
  const std::byte* plan = nullptr;
};

struct PlannedBatch {
  std::uint64_t position = 0;  // of the queue's sequence in which the arrays are
  std::uint64_t last_used = 0;
  std::vector<device::AttentionSequence> sequences;
  std::vector<device::PageId> pages;
  std::size_t q_size = 0, k_size = 0;

  const std::uint32_t* page_list = nullptr;
  const gpu_kernels::KvPlace* places = nullptr;
  std::int64_t num_places = 0;
  bool places_by_row = false;  // whether the i-th place is that of row i of k and v
  PlannedDecode own, shared;
  const gpu_kernels::PrefillBucket* prefill = nullptr;
  const std::byte* prefill_plan = nullptr;
  // For a batch with shared pages: O and LSE of every level in scratch, and the coverage for their
  // merge.
  std::int64_t merged_rows = 0;
  const std::byte* coverage = nullptr;
  std::size_t o_at = 0, lse_at = 0;  // in scratch, after the workspace
  std::size_t scratch_bytes = 0;
  std::uint64_t staged_bytes = 0, tokens_read = 0;
};

class AttentionPlanner {
 public:
  // Reads the pool's type in the constructor, and its other members with the first batch. Chooses
  // the paths of attention, which may run trials (kernel_choice.h). Throws Error if the GPU's
  // shared memory is too small for the heads.
  AttentionPlanner(Gpu& gpu, const device::AttentionGeometry& geometry,
                   const gpu_kernels::KvPool& pool);

  // Checks the batch. Afterwards its arrays are in the queue's open sequence, and its scratch
  // exists.
  const PlannedBatch& plan(const device::AttentionBatch& batch,
                           const device::AttentionPartial& out);

  // Appends the launches. Call it directly after plan(). New rows are appended to the pages first.
  // If the launch that rotates the keys is directly before, it also appends them.
  void launch(const PlannedBatch& planned, const device::AttentionBatch& batch,
              const AttentionRows& rows);

 private:
  struct DecodeKey {
    int groups, rows, group_rows;
    bool operator==(const DecodeKey&) const = default;
  };
  struct PrefillKey {
    int sequences, rows;
    bool operator==(const PrefillKey&) const = default;
  };

  bool is_planned(const PlannedBatch& planned, const device::AttentionBatch& batch) const;
  void deal_out(const device::AttentionBatch& batch);
  void find_shared_pages(const device::AttentionBatch& batch);
  const gpu_kernels::DecodeBucket& decode_bucket(std::span<const gpu_kernels::DecodeGroup> groups,
                                                 std::size_t num_rows);
  const gpu_kernels::DecodeBucket& decode_bucket(const DecodeKey& key);
  const gpu_kernels::PrefillBucket& prefill_bucket(const PrefillKey& key);
  void choose_buckets(PlannedBatch& planned);
  void reserve_arrays(PlannedBatch& planned, const device::AttentionBatch& batch);
  void stage(PlannedBatch& planned, const device::AttentionBatch& batch);
  void stage_places(PlannedBatch& planned, const device::AttentionBatch& batch);
  const std::byte* stage_decode(const gpu_kernels::DecodeBucket& bucket,
                                std::span<const gpu_kernels::DecodeGroup> groups);
  void stage_coverage(PlannedBatch& planned);
  bool append_while_rotating(const PlannedBatch& planned, int layer, const AttentionRows& rows);
  void launch_prefill(const PlannedBatch& planned, const device::AttentionBatch& batch,
                      const AttentionRows& rows);
  void launch_decode(const PlannedDecode& pass, const PlannedBatch& planned,
                     const device::AttentionBatch& batch, const AttentionRows& rows);

  Queue& queue_;
  const device::AttentionGeometry& geometry_;
  const gpu_kernels::KvPool& pool_;
  gpu_kernels::DecodeShape decode_shape_;    // its path is the chosen one
  gpu_kernels::PrefillShape prefill_shape_;  // its path is the chosen one
  Buckets<DecodeKey, gpu_kernels::DecodeBucket> decode_buckets_;
  Buckets<PrefillKey, gpu_kernels::PrefillBucket> prefill_buckets_;
  std::array<PlannedBatch, 6> planned_;  // one per sub-batch and window of its layers
  std::uint64_t uses_ = 0;
  // State of the batch that is being planned.
  std::vector<gpu_kernels::DecodeGroup> groups_;
  std::vector<std::int32_t> rows_;
  std::vector<gpu_kernels::PrefillSequence> prefill_;
  std::size_t prefill_rows_ = 0, num_new_ = 0;
  std::vector<bool> appended_;  // by row of k and v
  bool places_by_row_ = false;
  gpu_kernels::CascadePlan cascade_;
  std::vector<gpu_kernels::MergeCover> covers_;
};

}  // namespace tandem::cuda
