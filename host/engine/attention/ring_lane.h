// SPDX-License-Identifier: Apache-2.0
//
// RingLane: attention units with their own threads, fed by the compute unit's queue through rings
// (attention_ring.h). A step is enqueued without a wait.
//
// When a unit fails, every post is answered at once, so that the compute unit finishes the enqueued
// work; each unit with missing work counts as lost. If the compute unit does not finish, its rings
// are abandoned, and begin() throws DeviceError.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engine/attention/attention_lane.h"
#include "engine/attention/attention_ring.h"

namespace tandem::engine {

class RingLane final : public AttentionLane {
 public:
  explicit RingLane(const LaneContext& context) : context_(context) {}

  HostRows host_rows() const override { return HostRows::kSlot; }
  bool has_own_threads() const override { return true; }
  void add_unit(int unit, device::AttentionUnit& device) override;
  void remove_unit(int unit) override { rings_[static_cast<std::size_t>(unit)].reset(); }
  // Whether the steps that begin later use the unit's ring.
  void use_unit(int unit, bool used) { is_used_[static_cast<std::size_t>(unit)] = used; }
  void begin(const LaneStep& step) override;
  bool send_queries(const StepPlace& place) override;
  void bring_rows(const StepPlace& place) override;
  void return_results(const StepPlace& place) override;
  bool finish() override;
  void abort() override;

 private:
  template <typename Call>
  void for_rings(const Call& call);
  void drain();

  const LaneContext& context_;
  // [units]; null: the unit belongs to another lane
  std::vector<std::unique_ptr<AttentionRing>> rings_;
  std::vector<bool> is_used_;  // [units]
  std::atomic<bool> step_failed_{false};
  bool are_open_ = false, are_abandoned_ = false;
};

}  // namespace tandem::engine
