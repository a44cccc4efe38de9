// SPDX-License-Identifier: Apache-2.0
//
// What a composite of attention units tells of the work of its parts.
#include <gtest/gtest.h>

#include "parallel/composite_attention.h"

namespace tandem::device::parallel {
namespace {

// Answers nothing and has been busy for some time.
class BusyUnit final : public AttentionUnit {
 public:
  BusyUnit(const AttentionGeometry& geometry, double seconds)
      : geometry_(geometry), seconds_(seconds) {}
  const AttentionGeometry& geometry() const override { return geometry_; }
  AttentionCapacity capacity() const override { return {.num_pages = 4}; }
  Ticket submit(const AttentionBatch&, AttentionPartial) override { return 1; }
  WaitResult wait(Ticket, Deadline) override { return WaitResult::kDone; }
  WaitResult export_page(PageId, std::span<std::byte>, Deadline) override {
    return WaitResult::kDone;
  }
  WaitResult import_page(PageId, std::span<const std::byte>, Deadline) override {
    return WaitResult::kDone;
  }
  AttentionStats stats() const override { return {.busy_seconds = seconds_}; }

 private:
  const AttentionGeometry geometry_;
  const double seconds_;
};

class TwoBusyParts final : public CompositeAttention {
 public:
  using CompositeAttention::CompositeAttention;
  Ticket submit(const AttentionBatch&, AttentionPartial) override { return 0; }
};

TEST(CompositeStats, PartsWithHeadsAreBusyAtOnceAndPartsWithLayersOneAfterAnother) {
  const AttentionGeometry whole{2, 4, 2, 16, 16, DType::kF16};
  const auto busy = [&](const PageSlice& first, const PageSlice& second) {
    std::vector<AttentionPart> parts;
    parts.push_back({std::make_unique<BusyUnit>(slice_geometry(whole, first), 2.0), first});
    parts.push_back({std::make_unique<BusyUnit>(slice_geometry(whole, second), 3.0), second});
    return TwoBusyParts(whole, std::move(parts), nullptr).stats().busy_seconds;
  };
  EXPECT_EQ(busy({0, 2, 0, 1}, {0, 2, 1, 1}), 3);
  EXPECT_EQ(busy({0, 1, 0, 2}, {1, 1, 0, 2}), 5);
}

}  // namespace
}  // namespace tandem::device::parallel
