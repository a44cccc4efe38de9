// SPDX-License-Identifier: Apache-2.0
//
// plan_attention(): total work over 4 items per thread gives the longest token range.
#include "cpu/attention_plan.h"

#include <algorithm>

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kItemsPerThread = 4;
constexpr std::size_t kMinRange = 256;
constexpr std::size_t kRangeStep = 64;  // whole steps of the kernel

std::size_t panels(std::size_t rows) { return (rows + kPanelQueries - 1) / kPanelQueries; }

// The longest range of tokens for one item; no limit for one thread.
std::size_t longest_range(const AttentionGeometry& g, const AttentionBatch& batch,
                          int num_threads) {
  const auto group = static_cast<std::size_t>(g.q_heads / g.kv_heads);
  std::size_t work = 0;  // tokens of all items
  for (const AttentionSequence& s : batch.sequences) {
    work += panels(s.num_q * group) * g.kv_heads * s.num_attend;
  }
  if (num_threads == 1) return std::max<std::size_t>(work, 1);
  const std::size_t share = work / (kItemsPerThread * num_threads) + 1;
  return std::max(kMinRange, (share + kRangeStep - 1) / kRangeStep * kRangeStep);
}

}  // namespace

void plan_attention(const AttentionGeometry& g, const AttentionBatch& batch, int num_threads,
                    AttentionPlan& plan) {
  const auto group = static_cast<std::size_t>(g.q_heads / g.kv_heads);
  const std::size_t longest = longest_range(g, batch, num_threads);
  plan.items.clear();
  plan.partial_rows = 0;
  for (std::size_t index = 0; index < batch.sequences.size(); ++index) {
    const AttentionSequence& s = batch.sequences[index];
    const std::size_t rows = s.num_q * group;
    const auto tokens = static_cast<std::size_t>(s.num_attend);
    const std::size_t ranges = std::max<std::size_t>(1, (tokens + longest - 1) / longest);
    const std::size_t even = (tokens + ranges - 1) / ranges;
    const std::size_t step = (even + kRangeStep - 1) / kRangeStep * kRangeStep;
    for (std::size_t head = 0; head < static_cast<std::size_t>(g.kv_heads); ++head) {
      for (std::size_t row = 0; row < rows; row += kPanelQueries) {
        AttentionItem item{index, head, row, std::min(row + kPanelQueries, rows)};
        item.num_ranges = ranges;
        for (item.range = 0; item.range < ranges; ++item.range) {
          item.token_begin = std::min(item.range * step, tokens);
          item.token_end = std::min(item.token_begin + step, tokens);
          item.partial_row = plan.partial_rows;
          if (ranges > 1) plan.partial_rows += item.row_end - item.row_begin;
          plan.items.push_back(item);
        }
      }
    }
  }
}

}  // namespace tandem::device::cpu
