// SPDX-License-Identifier: Apache-2.0
//
// StepRows: the items of a step laid out as rows of one batch.
//
// Rows lie by sub-batch, then by home unit, so that each unit reads a short range of q, k and v. A
// step of decode rows alone is filled up, each sub-batch by itself, to what the compute unit asks
// for, where there is room: rows behind the others, in no group, whose results nobody asks for.
// Threads: values. Cost: O(rows + items log items), no allocation once the vectors have grown.
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
  std::size_t row_begin = 0, num_rows = 0;  // with those that were added
  std::vector<RowGroup> groups;
};

struct LogitRow {
  std::size_t item = 0;
  int row = 0;                // of the item
  std::int32_t step_row = 0;  // of the step
};

class StepRows {
 public:
  // `pads`: whose padded_rows() to go by, up to max_rows in all; null: none are added.
  void assign(std::span<const RunnerItem> items, int page_tokens,
              const device::ComputeUnit* pads = nullptr, std::size_t max_rows = 0);

  std::span<const std::int32_t> ids() const { return ids_; }              // [rows]
  std::span<const std::int32_t> positions() const { return positions_; }  // [rows]
  std::span<const LogitRow> logit_rows() const { return logit_rows_; }
  const SubBatchRows& sub_batch(std::size_t index) const { return sub_batches_[index]; }
  // Whether lists of these rows are to be filled up as well.
  bool is_padded() const { return is_padded_; }

 private:
  // Of decode rows alone that have the room, how many rows each sub-batch is to have.
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
