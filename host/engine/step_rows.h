// SPDX-License-Identifier: Apache-2.0
//
// StepRows: the items of a step laid out as rows of one batch.
//
// Rows lie by sub-batch, then by home unit, so that each unit reads a short range of q, k and v.
// Threads: values. Cost: O(rows + items log items), no allocation once the vectors have grown.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/attention_layout.h"
#include "engine/executor.h"

namespace tandem::engine {

constexpr std::size_t kMaxSubBatches = 2;

struct SubBatchRows {
  std::size_t row_begin = 0, num_rows = 0;
  std::vector<RowGroup> groups;
};

struct LogitRow {
  std::size_t item = 0;
  int row = 0;                // of the item
  std::int32_t step_row = 0;  // of the step
};

class StepRows {
 public:
  void assign(std::span<const ExecutorItem> items, int page_tokens);

  std::span<const std::int32_t> ids() const { return ids_; }              // [rows]
  std::span<const std::int32_t> positions() const { return positions_; }  // [rows]
  std::span<const LogitRow> logit_rows() const { return logit_rows_; }
  const SubBatchRows& sub_batch(std::size_t index) const { return sub_batches_[index]; }

 private:
  void add(std::size_t index, const ExecutorItem& item);

  std::vector<std::size_t> order_;
  std::vector<std::int32_t> ids_, positions_;
  std::vector<LogitRow> logit_rows_;
  std::array<SubBatchRows, kMaxSubBatches> sub_batches_;
};

}  // namespace tandem::engine
