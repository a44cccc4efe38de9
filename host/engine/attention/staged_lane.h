// SPDX-License-Identifier: Apache-2.0
//
// StagedLane: a HostLane for a compute unit whose rows are not in host memory. Only the rows that
// units read are copied to host memory, and their results are copied back.
//
// Results are copied to the device, and rows from it, in the one queue of the compute unit. A
// staged buffer is lent again only after a wait for its copies, so it never has two writers. Cost:
// as HostLane, and a copy per range of rows.
#pragma once

#include <span>
#include <vector>

#include "engine/attention/host_lane.h"

namespace tandem::engine {

class StagedLane final : public HostLane {
 public:
  using HostLane::HostLane;

  HostRows host_rows() const override { return HostRows::kTwins; }
  void bring_rows(const StepPlace& place) override;
  void return_results(const StepPlace& place) override;

 private:
  const RowBuffers& rows() const override { return step().lent->staged_rows; }
  const PartialBuffers& results_of(const UnitShare& share) const override {
    return step().lent->staged_partial_of(share);
  }
  void bring_queries(const StepPlace& place) override;
  // The rows of all shares of the lane, as few ranges.
  std::span<const RowSpan> spans_of(const AttentionLayout& layout, RowSpan UnitShare::*rows);
  void copy_rows(std::span<const RowSpan> spans, std::size_t first_row, std::size_t width,
                 const std::unique_ptr<device::Buffer>& from,
                 const std::unique_ptr<device::Buffer>& to);

  std::vector<RowSpan> spans_;  // the result of the last spans_of()
};

}  // namespace tandem::engine
