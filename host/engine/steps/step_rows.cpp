// SPDX-License-Identifier: Apache-2.0
//
// A stable sort of the items, then their rows in that order.
#include "engine/steps/step_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tandem::engine {

bool StepRows::plan_padding(std::span<const RunnerItem> items, const device::ComputeUnit& unit,
                            std::size_t max_rows) {
  padded_.fill(0);
  for (const RunnerItem& item : items) {
    if (item.tokens.size() != 1) return false;
    ++padded_.at(static_cast<std::size_t>(item.sub_batch));
  }
  for (std::size_t& rows : padded_) rows = rows > 0 ? unit.padded_rows(rows) : 0;
  return std::accumulate(padded_.begin(), padded_.end(), std::size_t{0}) <= max_rows;
}

// Copies of the last row. They attend to nothing, and their KV is appended nowhere.
void StepRows::pad(std::size_t sub_batch) {
  SubBatchRows& rows = sub_batches_[sub_batch];
  for (; rows.num_rows < padded_[sub_batch]; ++rows.num_rows) {
    ids_.push_back(ids_.back());
    positions_.push_back(positions_.back());
  }
}

void StepRows::assign(std::span<const RunnerItem> items, int page_tokens,
                      const device::ComputeUnit* pads, std::size_t max_rows) {
  ids_.clear();
  positions_.clear();
  logit_rows_.clear();
  for (SubBatchRows& sub_batch : sub_batches_) {
    sub_batch.groups.clear();
    sub_batch.num_rows = 0;
  }
  order_.resize(items.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::ranges::stable_sort(order_, {}, [&](std::size_t i) {
    const RunnerItem& item = items[i];
    const RowGroup group{item.blocks, item.past, static_cast<int>(item.tokens.size()), 0};
    return std::pair(item.sub_batch, home_unit(group, page_tokens));
  });
  ids_.reserve(max_rows);  // units recognise the arrays of a step by their addresses
  positions_.reserve(max_rows);
  is_padded_ = pads != nullptr && plan_padding(items, *pads, max_rows);
  std::size_t current = 0;
  for (const std::size_t index : order_) {
    const auto sub_batch = static_cast<std::size_t>(items[index].sub_batch);
    if (is_padded_ && sub_batch != current) pad(std::exchange(current, sub_batch));
    add(index, items[index]);
  }
  if (is_padded_) pad(current);
}

void StepRows::add(std::size_t index, const RunnerItem& item) {
  SubBatchRows& sub_batch = sub_batches_.at(static_cast<std::size_t>(item.sub_batch));
  if (sub_batch.num_rows == 0) sub_batch.row_begin = ids_.size();
  const auto num_rows = static_cast<int>(item.tokens.size());
  sub_batch.groups.push_back(
      {item.blocks, item.past, num_rows, static_cast<int>(sub_batch.num_rows)});
  sub_batch.num_rows += item.tokens.size();
  int first_logit = num_rows;
  if (item.logits == LogitRows::kLast) first_logit = num_rows - 1;
  if (item.logits == LogitRows::kAll) first_logit = 0;
  for (int i = 0; i < num_rows; ++i) {
    if (i >= first_logit) {
      logit_rows_.push_back({index, i, static_cast<std::int32_t>(ids_.size())});
    }
    ids_.push_back(item.tokens[static_cast<std::size_t>(i)]);
    positions_.push_back(item.past + i);
  }
}

}  // namespace tandem::engine
