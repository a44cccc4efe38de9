// SPDX-License-Identifier: Apache-2.0
//
// Distributes a batch of decode attention over the blocks of a GPU. Pure functions on the host.
//
// The work of a group is cut by KV head and into items of at most item_rows query heads. The tokens
// of all items form a line in units of 64, which num_blocks resident blocks divide evenly (at least
// two units each). So no block waits for another, for any lengths. A group in several blocks gives
// partial results, which a second launch reduces. A block has at most two partials, so the
// workspace depends on the device, not on the lengths. Units: tokens, rows of q; sizes in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/kernel_path.h"
#include "kv_cache/kv_pool.h"

namespace tandem::gpu_kernels {

struct DecodeShape {
  KvType type = KvType::kF16;
  int q_heads = 0;  // a multiple of kv_heads
  int kv_heads = 0;
  int head_dim = 0;        // 1..256
  int page_tokens = 0;     // as in KvPool
  int num_processors = 1;  // multiprocessors of the device
  // Shared memory of a multiprocessor; 0: 227 KiB. An H100 has 228 KiB, of which a block may have
  // 227.
  int shared_bytes = 0;
  KernelPath path = KernelPath::kGeneric;
};

// A set of rows of q that see the same tokens: the queries of a sequence, or of several sequences
// over pages that they share. They see tokens [attend_begin, num_attend) of the pages from
// page_begin on. An empty range gives O = 0, LSE = -inf.
struct DecodeGroup {
  std::int32_t row_begin = 0, num_rows = 0;  // range of the row list, whose entries are rows of q
  std::int32_t page_begin = 0;               // into the page list; page i holds tokens i * T ..
  std::int32_t attend_begin = 0, num_attend = 0;
  std::int32_t out_offset = 0;  // row r of q has its results at row r + out_offset
};

// The shape of a launch. A plan is data behind a pointer, so a CUDA graph captured for a bucket is
// valid for every batch that plan_decode() accepts: longer sequences, fewer rows.
struct DecodeBucket {
  DecodeShape shape;
  int max_groups = 0, max_rows = 0;  // upper bounds of a batch: groups, and entries of its row list
  int item_rows = 0;                 // query heads of an item: up to 8, 32 or 64
  int num_blocks = 0;                // blocks of the launch
  int max_items = 0;
  int stages = 0;                // Hopper path only: stages that a block holds
  std::size_t shared_bytes = 0;  // shared memory of a block
  std::size_t plan_bytes = 0;  // size of the plan, which plan_decode() writes and the kernels read
  std::size_t workspace_bytes = 0;  // partial results, f32
};

// max_group_rows: the most rows of one group. The result has the generic path if the Hopper path
// has too little shared memory for the shape. num_blocks is 0 in the result if no kernel takes the
// shape. On the generic path rows of 16-bit types wider than 128 need 146 KiB of shared memory, all
// others at most 79 KiB; with less shared memory than wide items need, items are narrower. The
// Hopper path takes up to 227 KiB a block.
DecodeBucket make_decode_bucket(const DecodeShape& shape, int max_groups, int max_rows,
                                int max_group_rows);

// Writes the plan into `plan` [plan_bytes]: host memory, aligned to 16. The caller copies it to
// device memory of the same alignment. A plan is valid for all layers of a step. False if the batch
// does not fit the bucket. Cost: O(groups * kv_heads + blocks), no allocation.
bool plan_decode(const DecodeBucket& bucket, std::span<const DecodeGroup> groups,
                 std::span<const std::int32_t> rows, std::span<std::byte> plan);

// An item as the kernels read it. Query head r of an item is head kv_head * G + (first + r) % G of
// row rows[row_begin + (first + r) / G], where G = q_heads / kv_heads.
struct DecodeItem {
  std::int32_t row_begin = 0, first = 0;
  std::int16_t num = 0, kv_head = 0;
  std::int32_t page_begin = 0;
  std::int32_t token_begin = 0, token_end = 0;
  // slot of the partial result; -1: the item is whole and writes o and lse
  std::int32_t partial = -1;
  std::int32_t out_offset = 0;
};

// Reduces partials [first_partial, first_partial + num_partials) to the rows of `item`.
struct DecodeReduction {
  DecodeItem item;
  std::int32_t first_partial = 0, num_partials = 0;
};

// The parts of a plan. The workspace holds o [2 * num_blocks, item_rows, row_values], then lse [2 *
// num_blocks, item_rows].
struct DecodePlanView {
  // [num_blocks + 1]: index of each block's first item, then the number of items
  const std::int32_t* block_begin;
  const DecodeItem* items;
  const std::int32_t* num_reductions;
  const DecodeReduction* reductions;  // at most num_blocks
  const std::int32_t* rows;
};
DecodePlanView view_decode_plan(const DecodeBucket& bucket, const void* plan);

}  // namespace tandem::gpu_kernels
