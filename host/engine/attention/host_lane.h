// SPDX-License-Identifier: Apache-2.0
//
// HostLane: attention units that work on host memory and are fed by the engine's thread.
//
// Rows and results are in host memory already, so nothing is copied. Units with a link are
// submitted to first and waited for last, because a unit in host memory may do its work inside
// submit() or wait(). Cost: one wait for the compute unit per layer and sub-batch, and one more if
// a unit gets queries early.
#pragma once

#include <array>
#include <vector>

#include "engine/attention/attention_lane.h"

namespace tandem::engine {

class HostLane : public AttentionLane {
 public:
  explicit HostLane(const LaneContext& context) : context_(context) {}

  void add_unit(int unit, device::AttentionUnit& device) override;
  void remove_unit(int unit) override { units_[static_cast<std::size_t>(unit)] = {}; }
  // Whether the steps that begin later feed the unit from here.
  void use_unit(int unit, bool used) { units_[static_cast<std::size_t>(unit)].is_used = used; }
  void begin(const LaneStep& step) override { step_ = step; }
  bool send_queries(const StepPlace& place) override;
  bool reads_rows(const StepPlace& place) const override;
  bool submit(const StepPlace& place) override;
  bool collect(std::size_t sub_batch) override;

 protected:
  // The memory in which the lane's units read rows and write results.
  virtual const RowBuffers& rows() const { return step_.lent->rows; }
  virtual const PartialBuffers& results_of(const UnitShare& share) const {
    return step_.lent->partial_of(share);
  }
  // Enqueues the copies that bring the queries of a place into rows().
  virtual void bring_queries(const StepPlace&) {}

  bool has(const UnitShare& share) const {
    const auto index = static_cast<std::size_t>(share.unit);
    return index < units_.size() && units_[index].device != nullptr && units_[index].is_used;
  }
  // Whether a unit of the lane is sent queries early.
  bool sends_queries(const AttentionLayout& layout) const;
  const LaneContext& context() const { return context_; }
  const LaneStep& step() const { return step_; }

 private:
  using TraceClock = StepTrace::Clock;
  struct Unit {
    device::AttentionUnit* device = nullptr;  // null: the unit belongs to another lane
    bool has_link = false;
    bool is_used = true;
  };
  struct InFlight {
    int unit = 0;
    device::Ticket ticket = 0;
    TraceClock::time_point submitted;
    trace::SpanDetails details;
    bool traced = false;
  };

  const Unit& unit_of(int unit) const { return units_[static_cast<std::size_t>(unit)]; }
  bool submit(const UnitShare& share, const StepPlace& place);
  void trace_end(InFlight& run);

  const LaneContext& context_;
  std::vector<Unit> units_;  // index: the unit's number
  LaneStep step_;
  std::array<std::vector<InFlight>, kMaxSubBatches> in_flight_;
};

}  // namespace tandem::engine
