// SPDX-License-Identifier: Apache-2.0
//
// Chooses the rows that are copied, and copies them.
#include "engine/attention/staged_lane.h"

#include <algorithm>

namespace tandem::engine {

std::span<const RowSpan> StagedLane::spans_of(const AttentionLayout& layout,
                                              RowSpan UnitShare::*rows) {
  spans_.clear();
  for (const UnitShare& share : layout.shares) {
    if (has(share) && !(share.*rows).empty()) spans_.push_back(share.*rows);
  }
  std::ranges::sort(spans_, {}, &RowSpan::begin);
  std::size_t kept = 0;
  for (const RowSpan& span : spans_) {
    if (kept > 0 && span.begin <= spans_[kept - 1].end) {
      spans_[kept - 1].end = std::max(spans_[kept - 1].end, span.end);
    } else {
      spans_[kept++] = span;
    }
  }
  return std::span(spans_).first(kept);
}

void StagedLane::copy_rows(std::span<const RowSpan> spans, std::size_t first_row, std::size_t width,
                           const std::unique_ptr<device::Buffer>& from,
                           const std::unique_ptr<device::Buffer>& to) {
  for (const RowSpan& span : spans) {
    const std::size_t begin = first_row + static_cast<std::size_t>(span.begin);
    const auto count = static_cast<std::size_t>(span.end - span.begin);
    context().queue.enqueue(device::CopyOp{count * width * sizeof(float), row(from, begin, width),
                                           row(to, begin, width)});
  }
}

void StagedLane::bring_queries(const StepPlace& place) {
  const LentBuffers& lent = *step().lent;
  copy_rows(spans_of(step().layout(place), &UnitShare::q_rows), step().first_row[place.sub_batch],
            context().q_width, lent.rows.q, lent.staged_rows.q);
}

void StagedLane::bring_rows(const StepPlace& place) {
  const AttentionLayout& layout = step().layout(place);
  if (!sends_queries(layout)) bring_queries(place);
  const LentBuffers& lent = *step().lent;
  const std::size_t first_row = step().first_row[place.sub_batch];
  const std::span<const RowSpan> spans = spans_of(layout, &UnitShare::new_rows);
  copy_rows(spans, first_row, context().kv_width, lent.rows.k, lent.staged_rows.k);
  copy_rows(spans, first_row, context().kv_width, lent.rows.v, lent.staged_rows.v);
}

void StagedLane::return_results(const StepPlace& place) {
  const std::size_t first_row = step().first_row[place.sub_batch];
  for (const UnitShare& share : step().layout(place).shares) {
    if (!has(share) || share.rows.empty()) continue;
    const PartialBuffers& from = step().lent->staged_partial_of(share);
    const PartialBuffers& to = step().lent->partial_of(share);
    copy_rows({&share.q_rows, 1}, first_row, context().q_width, from.o, to.o);
    copy_rows({&share.q_rows, 1}, first_row, context().q_heads, from.lse, to.lse);
  }
}

}  // namespace tandem::engine
