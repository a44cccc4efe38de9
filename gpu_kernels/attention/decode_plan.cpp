// SPDX-License-Identifier: Apache-2.0
//
// make_decode_bucket() and plan_decode(): all units in a line, and the cuts between blocks.
//
// A cut within a unit (or a sixteenth of a block's share) of a group's end moves to that end,
// because a partial result costs about as much as a unit.
#include "attention/decode_plan.h"

#include <algorithm>
#include <cstring>

#include "attention/decode_shapes.h"

namespace tandem::gpu_kernels {
namespace {

constexpr std::int64_t kLeastUnits = 2;           // of a block
constexpr int kMultiprocessorBytes = 228 * 1024;  // of an H100
constexpr int kBlockReserve = 1024;               // shared memory that the system keeps per block

std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

struct PlanLayout {
  std::size_t items, reductions, rows, bytes;
};

// The header is num_reductions and block_begin.
PlanLayout layout_of(const DecodeBucket& bucket) {
  PlanLayout at;
  const auto blocks = static_cast<std::size_t>(bucket.num_blocks);
  at.items = aligned((blocks + 2) * sizeof(std::int32_t));
  at.reductions = at.items + static_cast<std::size_t>(bucket.max_items) * sizeof(DecodeItem);
  at.rows = at.reductions + aligned(blocks * sizeof(DecodeReduction));
  at.bytes = aligned(at.rows + static_cast<std::size_t>(bucket.max_rows) * sizeof(std::int32_t));
  return at;
}

int group_heads(const DecodeShape& shape) { return shape.q_heads / shape.kv_heads; }

int shared_bytes_of(const DecodeShape& shape) {
  return shape.shared_bytes > 0 ? shape.shared_bytes : kMultiprocessorBytes;
}

BulkResidency bulk_resident(const DecodeShape& shape, int item_rows) {
  return bulk_residency(shape.type, kv_row_values(shape.head_dim), item_rows,
                        shared_bytes_of(shape), kBlockReserve);
}

// Blocks that a multiprocessor holds.
int resident(const DecodeShape& shape, int item_rows) {
  if (shape.path == KernelPath::kHopper) return bulk_resident(shape, item_rows).blocks;
  const int width = kv_row_values(shape.head_dim);
  const int shared = shared_bytes_of(shape);
  const int bytes = decode_shared(shape.type, width, item_rows).bytes + kBlockReserve;
  return std::min(resident_blocks(width, row_tiles_of(item_rows)), shared / bytes);
}

// The narrowest items that hold `most` query heads, or the widest for which there is room.
int choose_item_rows(const DecodeShape& shape, int most) {
  const int widest = kv_row_values(shape.head_dim) > 128 ? 32 : 64;
  int item_rows = most <= 8 ? 8 : most <= 32 ? 32 : widest;
  while (item_rows > 8 && resident(shape, item_rows) < 1) item_rows = item_rows == 64 ? 32 : 8;
  return item_rows;
}

// Writes a plan along the line of units.
class Dealer {
 public:
  Dealer(const DecodeBucket& bucket, std::int64_t num_units, std::byte* plan)
      : bucket_(bucket), num_units_(num_units) {
    num_used_ = std::clamp<std::int64_t>(num_units / kLeastUnits, 1, bucket.num_blocks);
    slack_ = std::max<std::int64_t>(1, num_units / num_used_ / 16);
    const PlanLayout at = layout_of(bucket);
    header_ = reinterpret_cast<std::int32_t*>(plan);
    items_ = reinterpret_cast<DecodeItem*>(plan + at.items);
    reductions_ = reinterpret_cast<DecodeReduction*>(plan + at.reductions);
    header_[1] = 0;
  }

  // Adds one KV head of some query heads: the next `units` of tokens. False when there is no room
  // for its items.
  bool deal(const DecodeItem& whole, std::int64_t units) {
    const std::int64_t start = dealt_, end = start + units;
    while (next_cut() <= start + slack_) close_block();
    DecodeItem item = whole;
    const int first_partial = num_partials_;
    const std::int64_t base = whole.token_begin / kTileTokens * kTileTokens;
    while (next_cut() < end - slack_) {
      item.partial = num_partials_++;
      item.token_end = static_cast<std::int32_t>(base + (next_cut() - start) * kStageTokens);
      if (!add(item)) return false;
      item.token_begin = item.token_end;
      close_block();
    }
    const bool is_split = num_partials_ > first_partial;
    item.partial = is_split ? num_partials_++ : -1;
    item.token_end = whole.token_end;
    if (!add(item)) return false;
    if (is_split) {
      reductions_[num_reductions_++] = {whole, first_partial, num_partials_ - first_partial};
    }
    dealt_ = end;
    return true;
  }

  void finish() {
    while (block_ < bucket_.num_blocks) close_block();
    header_[0] = num_reductions_;
  }

 private:
  // In units; no cut comes after the last used block.
  std::int64_t next_cut() const {
    return block_ + 1 < num_used_ ? num_units_ * (block_ + 1) / num_used_ : num_units_ * 2 + 2;
  }
  void close_block() { header_[1 + ++block_] = num_items_; }
  bool add(const DecodeItem& item) {
    if (num_items_ == bucket_.max_items) return false;
    items_[num_items_++] = item;
    return true;
  }

  const DecodeBucket& bucket_;
  std::int64_t num_units_, num_used_ = 1, slack_ = 1, dealt_ = 0;
  std::int32_t* header_;
  DecodeItem* items_;
  DecodeReduction* reductions_;
  int block_ = 0, num_items_ = 0, num_partials_ = 0, num_reductions_ = 0;
};

std::int64_t units_of(const DecodeGroup& group) {
  const std::int64_t base = group.attend_begin / kTileTokens * kTileTokens;
  if (group.num_attend <= group.attend_begin) return 1;
  return (group.num_attend - base + kStageTokens - 1) / kStageTokens;
}

bool is_in_range(const DecodeGroup& group, std::size_t num_rows) {
  return group.row_begin >= 0 && group.num_rows >= 0 &&
         static_cast<std::size_t>(group.row_begin) + static_cast<std::size_t>(group.num_rows) <=
             num_rows &&
         group.page_begin >= 0 && group.attend_begin >= 0 && group.num_attend >= group.attend_begin;
}

}  // namespace

DecodeBucket make_decode_bucket(const DecodeShape& shape, int max_groups, int max_rows,
                                int max_group_rows) {
  DecodeBucket bucket;
  bucket.shape = shape;
  KvPool pool;
  pool.num_layers = 1;
  pool.kv_heads = shape.kv_heads;
  pool.head_dim = shape.head_dim;
  pool.page_tokens = shape.page_tokens;
  if (!is_valid(pool) || shape.q_heads < 1 || shape.q_heads % shape.kv_heads != 0 ||
      shape.kv_heads > 32767 || shape.num_processors < 1 || max_groups < 1 || max_rows < 1 ||
      max_group_rows < 1) {
    return bucket;
  }
  bucket.max_groups = max_groups;
  bucket.max_rows = max_rows;
  const int most = max_group_rows * group_heads(shape);
  bucket.item_rows = choose_item_rows(bucket.shape, most);
  if (shape.path == KernelPath::kHopper && resident(bucket.shape, bucket.item_rows) < 1) {
    bucket.shape.path = KernelPath::kGeneric;
    bucket.item_rows = choose_item_rows(bucket.shape, most);
  }
  const int width = kv_row_values(shape.head_dim);
  int shared_bytes = decode_shared(shape.type, width, bucket.item_rows).bytes;
  if (bucket.shape.path == KernelPath::kHopper) {
    bucket.stages = bulk_resident(shape, bucket.item_rows).stages;
    shared_bytes = bulk_shared(shape.type, width, bucket.item_rows, bucket.stages).bytes;
  }
  bucket.shared_bytes = static_cast<std::size_t>(shared_bytes);
  bucket.num_blocks = shape.num_processors * resident(bucket.shape, bucket.item_rows);
  const int parts = std::min(max_groups * ((most + bucket.item_rows - 1) / bucket.item_rows),
                             max_groups + max_rows * group_heads(shape) / bucket.item_rows);
  bucket.max_items = parts * shape.kv_heads + bucket.num_blocks;
  bucket.plan_bytes = layout_of(bucket).bytes;
  bucket.workspace_bytes = static_cast<std::size_t>(bucket.num_blocks) * 2 *
                           static_cast<std::size_t>(bucket.item_rows * (width + 1)) * sizeof(float);
  return bucket;
}

bool plan_decode(const DecodeBucket& bucket, std::span<const DecodeGroup> groups,
                 std::span<const std::int32_t> rows, std::span<std::byte> plan) {
  if (bucket.num_blocks < 1 || groups.size() > static_cast<std::size_t>(bucket.max_groups) ||
      rows.size() > static_cast<std::size_t>(bucket.max_rows) || plan.size() < bucket.plan_bytes) {
    return false;
  }
  const int heads = group_heads(bucket.shape), kv_heads = bucket.shape.kv_heads;
  const auto parts_of = [&](const DecodeGroup& group) {
    return (group.num_rows * heads + bucket.item_rows - 1) / bucket.item_rows;
  };
  std::int64_t num_units = 0;
  for (const DecodeGroup& group : groups) {
    if (!is_in_range(group, rows.size())) return false;
    num_units += units_of(group) * parts_of(group) * kv_heads;
  }
  Dealer dealer(bucket, num_units, plan.data());
  for (const DecodeGroup& group : groups) {
    for (int part = 0; part < parts_of(group); ++part) {
      DecodeItem item;
      item.row_begin = group.row_begin;
      item.first = part * bucket.item_rows;
      item.num = static_cast<std::int16_t>(
          std::min(bucket.item_rows, group.num_rows * heads - item.first));
      item.page_begin = group.page_begin;
      item.token_begin = group.attend_begin;
      item.token_end = group.num_attend;
      item.out_offset = group.out_offset;
      for (int kv_head = 0; kv_head < kv_heads; ++kv_head) {
        item.kv_head = static_cast<std::int16_t>(kv_head);
        if (!dealer.deal(item, units_of(group))) return false;
      }
    }
  }
  dealer.finish();
  if (!rows.empty()) {
    std::memcpy(plan.data() + layout_of(bucket).rows, rows.data(), rows.size_bytes());
  }
  return true;
}

DecodePlanView view_decode_plan(const DecodeBucket& bucket, const void* plan) {
  const PlanLayout at = layout_of(bucket);
  const auto* bytes = static_cast<const std::byte*>(plan);
  const auto* header = reinterpret_cast<const std::int32_t*>(bytes);
  return {header + 1, reinterpret_cast<const DecodeItem*>(bytes + at.items), header,
          reinterpret_cast<const DecodeReduction*>(bytes + at.reductions),
          reinterpret_cast<const std::int32_t*>(bytes + at.rows)};
}

}  // namespace tandem::gpu_kernels
