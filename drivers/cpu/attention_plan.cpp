// SPDX-License-Identifier: Apache-2.0
//
// plan_attention(): the size of an item is all work (tokens times KV heads) divided by the number
// of items wanted.
#include "cpu/attention_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kItemsPerThread = 8;
constexpr std::size_t kMinRange = 256;
constexpr std::size_t kRangeStep = 64;  // whole steps of the kernel

std::size_t up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

// The size of one item, in tokens times heads; no limit for one thread.
std::size_t share(const AttentionGeometry& g, const AttentionBatch& batch, int num_threads) {
  if (num_threads == 1) return std::numeric_limits<std::size_t>::max() / 2;
  const auto group = static_cast<std::size_t>(g.q_heads / g.kv_heads);
  std::size_t work = 0;
  for (const AttentionSequence& s : batch.sequences) {
    const auto tokens = static_cast<std::size_t>(s.num_attend - s.attend_begin);
    work += up(s.num_q * group, kPanelQueries) / kPanelQueries * g.kv_heads * tokens;
  }
  return work / (kItemsPerThread * num_threads) + 1;
}

// How the sequences of a batch are cut.
struct SequenceCut {
  std::size_t heads = 1;   // per item
  std::size_t ranges = 1;  // of tokens
  std::size_t step = 1;    // tokens of a range
};

SequenceCut cut_sequence(const AttentionGeometry& g, std::size_t rows, std::size_t tokens,
                         std::size_t share) {
  SequenceCut cut;
  const std::size_t shortest = std::clamp<std::size_t>(tokens, 1, kMinRange);
  if (rows <= kFewQueries) {
    cut.heads = std::clamp<std::size_t>(share / shortest, 1, g.kv_heads);
  }
  const std::size_t longest = up(std::max(kMinRange, share / cut.heads), kRangeStep);
  cut.ranges = std::max<std::size_t>(1, (tokens + longest - 1) / longest);
  cut.step = up((tokens + cut.ranges - 1) / cut.ranges, kRangeStep);
  return cut;
}

}  // namespace

void AttentionPlan::sort_by_node(int num_nodes, FunctionRef<int(const AttentionItem&)> home) {
  if (num_nodes == 1) {
    bounds = {0, items.size()};
    return;
  }
  unsorted_.swap(items);
  homes_.clear();
  bounds.assign(static_cast<std::size_t>(num_nodes) + 1, 0);
  for (const AttentionItem& item : unsorted_) {
    homes_.push_back(home(item));
    bounds[static_cast<std::size_t>(homes_.back()) + 1] += 1;
  }
  std::partial_sum(bounds.begin(), bounds.end(), bounds.begin());
  items.resize(unsorted_.size());
  std::vector<std::size_t> next(bounds.begin(), bounds.end() - 1);
  for (std::size_t i = 0; i < unsorted_.size(); ++i) {
    items[next[static_cast<std::size_t>(homes_[i])]++] = unsorted_[i];
  }
}

void plan_attention(const AttentionGeometry& g, const AttentionBatch& batch, int num_threads,
                    AttentionPlan& plan) {
  const auto group = static_cast<std::size_t>(g.q_heads / g.kv_heads);
  const auto kv_heads = static_cast<std::size_t>(g.kv_heads);
  const std::size_t per_item = share(g, batch, num_threads);
  plan.items.clear();
  plan.partial_rows = 0;
  for (std::size_t index = 0; index < batch.sequences.size(); ++index) {
    const AttentionSequence& s = batch.sequences[index];
    const std::size_t rows = s.num_q * group;
    const auto begin = static_cast<std::size_t>(s.attend_begin);
    const auto end = static_cast<std::size_t>(s.num_attend);
    const std::size_t base = begin / kRangeStep * kRangeStep;
    const SequenceCut cut = cut_sequence(g, rows, end - base, per_item);
    for (std::size_t head = 0; head < kv_heads; head += cut.heads) {
      for (std::size_t row = 0; row < rows; row += kPanelQueries) {
        AttentionItem item{index, head, std::min(head + cut.heads, kv_heads), row,
                           std::min(row + kPanelQueries, rows)};
        item.num_ranges = cut.ranges;
        for (item.range = 0; item.range < cut.ranges; ++item.range) {
          item.token_begin = std::max(begin, base + item.range * cut.step);
          item.token_end =
              std::max(item.token_begin, std::min(base + (item.range + 1) * cut.step, end));
          item.partial_row = plan.partial_rows;
          if (cut.ranges > 1) plan.partial_rows += item.rows();
          plan.items.push_back(item);
        }
      }
    }
  }
}

}  // namespace tandem::device::cpu
