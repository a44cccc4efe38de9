// SPDX-License-Identifier: Apache-2.0
//
// StepRows: the items of a step as rows of one batch.
//
// Rows are ordered by sub-batch, then by home unit, so that each unit reads a short range of q, k
// and v. A compute unit may need steps of few different sizes. A step of decode rows alone is then
// padded, each sub-batch by itself and where there is room. Padding rows are at the end, belong to
// no group, and their results are not read. Threads: plain data. Cost: O(rows + items log items),
// no allocation once the vectors have grown.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/steps/row_group.h"
#include "engine/steps/step_runner.h"

namespace tandem::engine {

constexpr std::size_t kMaxSubBatches = 2;

struct SubBatchRows {
  std::size_t row_begin = 0, num_rows = 0;  // padding included
  std::vector<RowGroup> groups;
};

struct LogitRow {
  std::size_t item = 0;
  int row = 0;                // index of the row in the item
  std::int32_t step_row = 0;  // index of the row in the step
};

class StepRows {
 public:
  // `pads`: the unit whose padded_rows() gives the padding, up to max_rows in all; null: no
  // padding.
  void assign(std::span<const RunnerItem> items, int page_tokens,
              const device::ComputeUnit* pads = nullptr, std::size_t max_rows = 0);

  std::span<const std::int32_t> ids() const { return ids_; }              // [rows]
  std::span<const std::int32_t> positions() const { return positions_; }  // [rows]
  std::span<const LogitRow> logit_rows() const { return logit_rows_; }
  const SubBatchRows& sub_batch(std::size_t index) const { return sub_batches_[index]; }
  // Whether lists of these rows must be padded as well.
  bool is_padded() const { return is_padded_; }

 private:
  // Computes the padded rows of each sub-batch. Returns false if an item is not a decode row, or
  // there is no room.
  bool plan_padding(std::span<const RunnerItem> items, const device::ComputeUnit& unit,
                    std::size_t max_rows);
  void pad(std::size_t sub_batch);
  void add(std::size_t index, const RunnerItem& item);

  std::vector<std::size_t> order_;
  std::vector<std::int32_t> ids_, positions_;
  std::vector<LogitRow> logit_rows_;
  std::array<SubBatchRows, kMaxSubBatches> sub_batches_;
  std::array<std::size_t, kMaxSubBatches> padded_{};
  bool is_padded_ = false;
};

}  // namespace tandem::engine
