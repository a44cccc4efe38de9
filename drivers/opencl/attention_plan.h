// SPDX-License-Identifier: Apache-2.0
//
// BatchPlan: an attention batch, cut into the work-groups of the kernels and packed for one
// transfer. Pure: no OpenCL here.
//
// A sequence's queries of one KV head (num_q * group vectors) are cut into tiles of the kernel's
// size. Its tokens are cut into ranges of at most `split_tokens`. So work-groups have about equal
// work and keep the device busy. A single range writes its result; several ranges go to scratch
// slots and are merged. Rows are compact: only rows that a sequence names, and no row of sequences
// that attend to nothing (O = 0, LSE = -inf). Packed input, in 4-byte words: header [8] of offsets,
// q * scale [q_rows, q_heads, head_dim], k and v [kv_rows, kv_heads, head_dim], append, part and
// merge entries, page ids. Threads: any. Errors: none; the caller checks the batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/attention_unit.h"

namespace tandem::opencl {

// The limits of a unit's kernels.
struct PlanLimits {
  int decode_queries = 1;  // query vectors per work-group, for sequences with a single query token
  int chunk_queries = 8;   // the same for sequences with several query tokens
  int work_groups = 1;     // work-groups that keep the device busy
};

// As the kernels read them: 4-byte words in this order.
struct AppendEntry {
  std::int32_t row, page, slot;
};
struct PartEntry {
  std::int32_t q_row, first_query, num_queries;
  std::int32_t pages_at, token_begin, token_end;
  std::int32_t out_slot, in_scratch;
};
struct MergeEntry {
  std::int32_t first_slot, slot_step, num_parts, out_row;
};

// Rows of a sequence in the caller's arrays and in the compact ones.
struct RowRange {
  std::int32_t caller_row, compact_row, num_rows;
};

struct BatchPlan {
  std::vector<AppendEntry> appends;
  std::vector<PartEntry> decode_parts, chunk_parts;
  std::vector<MergeEntry> merges;
  std::vector<device::PageId> pages;
  std::vector<RowRange> queries;  // of sequences with tokens to attend to
  // of sequences without tokens to attend to; compact_row is unused
  std::vector<RowRange> unanswered;
  std::vector<RowRange> new_rows;
  std::int32_t q_rows = 0, kv_rows = 0, scratch_slots = 0;
  std::uint64_t kv_rows_read = 0;  // rows of K (and as many of V), times KV heads

  std::size_t input_words(const device::AttentionGeometry& geometry) const;
};

BatchPlan plan_batch(const device::AttentionGeometry& geometry, const PlanLimits& limits,
                     const device::AttentionBatch& batch);

// Writes the packed input; `to` holds input_words() words.
void pack_input(const device::AttentionGeometry& geometry, const BatchPlan& plan,
                const device::AttentionBatch& batch, std::span<std::uint32_t> to);

}  // namespace tandem::opencl
