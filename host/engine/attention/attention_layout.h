// SPDX-License-Identifier: Apache-2.0
//
// AttentionLayout: the work of each attention unit for the rows of one sub-batch: the tokens that
// it appends and those that it attends to. All layers with the same window share it.
//
// Each unit appends the new tokens whose blocks it holds. A group of one row (decode) attends to
// all that it holds, the new token included. Units have no mask: in a larger group (prefill chunk)
// they attend to the past only, and the causal part inside the chunk is one more partial, of the
// compute unit. Rows are numbered from the sub-batch's first row. Each unit gets the smallest range
// of rows that covers its work, so that rows should be ordered by home_unit(). Threads: plain data.
// Cost: O(blocks of the groups), no allocation once the vectors have grown.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/attention_unit.h"
#include "device/compute_unit.h"
#include "engine/steps/row_group.h"

namespace tandem::engine {

// Rows [begin, end) of a sub-batch; empty where begin == end.
struct RowSpan {
  int begin = 0, end = 0;
  bool empty() const { return begin == end; }
  void cover(int first, int count);
};

// The part of a unit's work that a share holds. A unit that gets queries early, before k and v
// exist, has two shares: queries, which see the past only, and then appends. The newest token of a
// decode row is then a chunk of one row.
enum class SharePart { kAll, kQueries, kAppends };

struct UnitShare {
  int unit = 0;
  // With a window, all rows of a chunk see a common part of the past: one sequence. The first rows
  // also see earlier tokens, a different range each ("ragged beginning"): one sequence per row.
  // These are in a separate share, because they give the rows a second partial of the same unit.
  // Pages wholly before the first row's window are omitted.
  // whether the share has the ragged beginnings; it comes after the unit's other shares
  bool ragged = false;
  SharePart part = SharePart::kAll;
  RowSpan rows_read;  // the rows of q, k, v that the batch spans
  RowSpan q_rows,
      new_rows;  // of these rows, those whose q, and those whose k and v, the share reads
  std::vector<device::AttentionSequence> sequences;  // rows relative to rows_read.begin
  std::vector<device::PageId> pages;
  std::vector<std::int32_t> rows;  // the rows of the sub-batch for which the share has results
};

struct AttentionLayout {
  std::vector<UnitShare> shares;  // only units with work
  std::vector<device::CausalChunk> chunks;
  std::vector<std::int32_t> chunk_rows;  // rows whose result comes from the causal operation
  // Set if one partial is the whole result, so that nothing is merged: the index of the share that
  // has every row, or the causal operation.
  int only_share = -1;
  bool only_causal = false;

  // `early`: for each unit, whether it is sent queries early. `window`: how many tokens a row sees,
  // itself included; 0: all.
  void build(std::span<const RowGroup> groups, int page_tokens, const std::vector<bool>& early,
             int window = 0);

 private:
  UnitShare take_spare(int unit, bool ragged, SharePart part);
  void keep_parts(UnitShare share);
  void keep(UnitShare share);
  void find_whole_answer(int num_rows);
  std::vector<UnitShare> spare_;  // keeps the vectors' memory from step to step
};

}  // namespace tandem::engine
