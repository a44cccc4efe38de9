// SPDX-License-Identifier: Apache-2.0
//
// QueueLane: attention units that work in the compute unit's queue. They read and write device
// buffers, and nothing waits for them before the step ends.
//
// Cost: one submission per share; one wait per unit and step.
#pragma once

#include <vector>

#include "engine/attention/attention_lane.h"

namespace tandem::engine {

class QueueLane final : public AttentionLane {
 public:
  explicit QueueLane(const LaneContext& context) : context_(context) {}

  void add_unit(int unit, device::AttentionUnit& device) override;
  void remove_unit(int unit) override { units_[static_cast<std::size_t>(unit)] = {}; }
  void begin(const LaneStep& step) override { step_ = step; }
  bool submit(const StepPlace& place) override;
  bool finish() override;
  void abort() override { finish(); }

 private:
  struct Unit {
    device::AttentionUnit* device = nullptr;  // null: the unit belongs to another lane
    device::Ticket queued = 0;                // the last ticket; reset by finish()
  };
  bool submit(const UnitShare& share, const StepPlace& place, Unit& unit);

  const LaneContext& context_;
  std::vector<Unit> units_;  // index: the unit's number
  LaneStep step_;
};

}  // namespace tandem::engine
