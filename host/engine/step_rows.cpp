// SPDX-License-Identifier: Apache-2.0
//
// StepRows: a stable sort of the items, then their rows in that order.
#include "engine/step_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tandem::engine {

void StepRows::assign(std::span<const ExecutorItem> items, int page_tokens) {
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
    const ExecutorItem& item = items[i];
    const RowGroup group{item.blocks, item.past, static_cast<int>(item.tokens.size()), 0};
    return std::pair(item.sub_batch, home_unit(group, page_tokens));
  });
  for (const std::size_t index : order_) add(index, items[index]);
}

void StepRows::add(std::size_t index, const ExecutorItem& item) {
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
