// SPDX-License-Identifier: Apache-2.0
//
// Cuts a batch into work-groups and packs it.
//
// Ranges beyond the first of a sequence are bounded by its share of the work. So all scratch slots
// together are at most work_groups * queries / q_heads plus twice the rows.
#include "opencl/attention_plan.h"

#include <algorithm>
#include <cstring>

namespace tandem::opencl {
namespace {

using device::AttentionBatch;
using device::AttentionGeometry;
using device::AttentionSequence;

constexpr std::size_t kHeaderWords = 8;
constexpr std::int64_t kSplitStep = 256;  // a multiple of the lanes along tokens

template <typename T>
constexpr std::size_t words() {
  return sizeof(T) / sizeof(std::uint32_t);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Tiling {
  int queries = 1;
  std::int64_t tiles = 0;
};

Tiling tiling_of(const AttentionGeometry& g, const PlanLimits& limits, const AttentionSequence& s) {
  const std::int64_t vectors = static_cast<std::int64_t>(s.num_q) * (g.q_heads / g.kv_heads);
  const int queries =
      vectors <= limits.decode_queries ? limits.decode_queries : limits.chunk_queries;
  return {queries, ceil_div(vectors, queries)};
}

// Tokens of a range such that the batch makes about `work_groups` groups of equal work.
std::int64_t split_tokens(const AttentionGeometry& g, const PlanLimits& limits,
                          const AttentionBatch& batch) {
  std::int64_t work = 0;
  for (const AttentionSequence& s : batch.sequences) {
    work += tiling_of(g, limits, s).tiles * s.num_attend * g.kv_heads;
  }
  const std::int64_t share = ceil_div(work, limits.work_groups);
  return std::max<std::int64_t>(1, ceil_div(share, kSplitStep)) * kSplitStep;
}

void add_appends(const AttentionGeometry& g, const AttentionBatch& batch,
                 const AttentionSequence& s, BatchPlan* plan) {
  if (s.num_new == 0) return;
  for (std::int32_t i = 0; i < s.num_new; ++i) {
    const std::int32_t token = s.append_at + i;
    const device::PageId page =
        batch.pages[static_cast<std::size_t>(s.page_begin) + token / g.page_tokens];
    plan->appends.push_back(
        {plan->kv_rows + i, static_cast<std::int32_t>(page), token % g.page_tokens});
  }
  plan->new_rows.push_back({s.new_begin, plan->kv_rows, s.num_new});
  plan->kv_rows += s.num_new;
}

void add_parts(const AttentionGeometry& g, const PlanLimits& limits, const AttentionSequence& s,
               std::int64_t range, BatchPlan* plan) {
  const Tiling tiling = tiling_of(g, limits, s);
  const std::int64_t num_ranges = ceil_div(s.num_attend, range);
  const auto vectors = s.num_q * (g.q_heads / g.kv_heads);
  const auto pages_at = static_cast<std::int32_t>(plan->pages.size());
  auto& parts = tiling.queries == limits.decode_queries ? plan->decode_parts : plan->chunk_parts;
  for (std::int64_t r = 0; r < num_ranges; ++r) {
    const auto begin = static_cast<std::int32_t>(r * range);
    const auto end = static_cast<std::int32_t>(std::min<std::int64_t>(s.num_attend, begin + range));
    const std::int32_t slot = num_ranges == 1
                                  ? plan->q_rows
                                  : plan->scratch_slots + static_cast<std::int32_t>(r) * s.num_q;
    for (std::int64_t tile = 0; tile < tiling.tiles; ++tile) {
      parts.push_back({plan->q_rows, static_cast<std::int32_t>(tile * tiling.queries), vectors,
                       pages_at, begin, end, slot, num_ranges > 1});
    }
  }
  if (num_ranges > 1) {
    for (std::int32_t row = 0; row < s.num_q; ++row) {
      plan->merges.push_back({plan->scratch_slots + row, s.num_q,
                              static_cast<std::int32_t>(num_ranges), plan->q_rows + row});
    }
    plan->scratch_slots += static_cast<std::int32_t>(num_ranges) * s.num_q;
  }
  plan->kv_rows_read += static_cast<std::uint64_t>(tiling.tiles) * s.num_attend * g.kv_heads;
}

void add_queries(const AttentionGeometry& g, const PlanLimits& limits, const AttentionBatch& batch,
                 const AttentionSequence& s, std::int64_t range, BatchPlan* plan) {
  if (s.num_q == 0) return;
  if (s.num_attend == 0) {
    plan->unanswered.push_back({s.q_begin, 0, s.num_q});
    return;
  }
  add_parts(g, limits, s, range, plan);
  const auto used = ceil_div(s.num_attend, g.page_tokens);
  const auto first = batch.pages.begin() + s.page_begin;
  plan->pages.insert(plan->pages.end(), first, first + used);
  plan->queries.push_back({s.q_begin, plan->q_rows, s.num_q});
  plan->q_rows += s.num_q;
}

// A cursor over the packed words.
class Packer {
 public:
  explicit Packer(std::span<std::uint32_t> to) : to_(to), at_(kHeaderWords) {}

  // Notes the current place in the header.
  void mark() { to_[header_++] = static_cast<std::uint32_t>(at_); }

  template <typename T>
  void copy(const T* from, std::size_t count) {
    if (count > 0) std::memcpy(&to_[at_], from, count * sizeof(T));
    at_ += count * words<T>();
  }

  void copy_scaled(const float* from, std::size_t count, float scale) {
    auto* to = reinterpret_cast<float*>(to_.data() + at_);
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i] * scale;
    at_ += count;
  }

 private:
  std::span<std::uint32_t> to_;
  std::size_t at_;
  std::size_t header_ = 0;
};

}  // namespace

std::size_t BatchPlan::input_words(const AttentionGeometry& g) const {
  const auto head_dim = static_cast<std::size_t>(g.head_dim);
  return kHeaderWords + q_rows * g.q_heads * head_dim + 2 * kv_rows * g.kv_heads * head_dim +
         appends.size() * words<AppendEntry>() +
         (decode_parts.size() + chunk_parts.size()) * words<PartEntry>() +
         merges.size() * words<MergeEntry>() + pages.size();
}

BatchPlan plan_batch(const AttentionGeometry& geometry, const PlanLimits& limits,
                     const AttentionBatch& batch) {
  BatchPlan plan;
  const std::int64_t range = split_tokens(geometry, limits, batch);
  for (const AttentionSequence& s : batch.sequences) {
    add_appends(geometry, batch, s, &plan);
    add_queries(geometry, limits, batch, s, range, &plan);
  }
  return plan;
}

void pack_input(const AttentionGeometry& g, const BatchPlan& plan, const AttentionBatch& batch,
                std::span<std::uint32_t> to) {
  const std::size_t q_row = static_cast<std::size_t>(g.q_heads) * g.head_dim;
  const std::size_t kv_row = static_cast<std::size_t>(g.kv_heads) * g.head_dim;
  Packer packer(to);
  packer.mark();
  for (const RowRange& rows : plan.queries) {
    packer.copy_scaled(batch.q.data() + rows.caller_row * q_row, rows.num_rows * q_row,
                       batch.scale);
  }
  for (const std::span<const float> from : {batch.k, batch.v}) {
    packer.mark();
    for (const RowRange& rows : plan.new_rows) {
      packer.copy(from.data() + rows.caller_row * kv_row, rows.num_rows * kv_row);
    }
  }
  packer.mark();
  packer.copy(plan.appends.data(), plan.appends.size());
  packer.mark();
  packer.copy(plan.decode_parts.data(), plan.decode_parts.size());
  packer.copy(plan.chunk_parts.data(), plan.chunk_parts.size());
  packer.mark();
  packer.copy(plan.merges.data(), plan.merges.size());
  packer.mark();
  packer.copy(plan.pages.data(), plan.pages.size());
}

}  // namespace tandem::opencl
