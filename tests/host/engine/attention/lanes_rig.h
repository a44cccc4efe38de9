// SPDX-License-Identifier: Apache-2.0
//
// What the tests of lanes and of the exchange share: an attention unit that writes down its calls,
// and a step over two of them.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "common/error.h"
#include "engine/attention/attention_lane.h"
#include "host/engine/engine_rig.h"
#include "support/queued_compute_unit.h"

namespace tandem::engine {

using device::WaitResult;

// Writes down its calls and answers what it is told to.
class LoggedUnit final : public device::AttentionUnit {
 public:
  LoggedUnit(std::string name, bool has_link, std::vector<std::string>& log)
      : name_(std::move(name)), has_link_(has_link), log_(log) {}

  const device::AttentionGeometry& geometry() const override { return geometry_; }
  device::AttentionCapacity capacity() const override {
    return {8, 0, 0, has_link_ ? 1e9 : 0.0, 0};
  }
  device::Ticket submit(const device::AttentionBatch&, device::AttentionPartial) override {
    log_.push_back("submit " + name_);
    return ++ticket_;
  }
  WaitResult wait(device::Ticket ticket, Deadline) override {
    log_.push_back("wait " + name_ + " " + std::to_string(ticket));
    if (refuses) throw Error("test", "refused");
    return answer;
  }
  WaitResult export_page(device::PageId, std::span<std::byte>, Deadline) override {
    return WaitResult::kLost;
  }
  WaitResult import_page(device::PageId, std::span<const std::byte>, Deadline) override {
    return WaitResult::kLost;
  }
  bool works_in_queue_of(const device::ComputeUnit&) const override { return in_queue; }
  bool may_have_own_thread() const override { return own_thread; }
  device::AttentionStats stats() const override { return {}; }

  bool in_queue = false;
  bool own_thread = true;
  WaitResult answer = WaitResult::kDone;
  bool refuses = false;

 private:
  const std::string name_;
  const bool has_link_;
  std::vector<std::string>& log_;
  const device::AttentionGeometry geometry_{};
  device::Ticket ticket_ = 0;
};

// Two sub-batches of two decode rows each, one row on each of two units.
class Lanes : public ::testing::Test {
 protected:
  explicit Lanes(bool signals = false)
      : compute_(rig_.compute(), {.signals = signals,
                                  .on_allocate =
                                      [this] {
                                        if (has_no_memory_) throw Error("gpu", "out of memory");
                                      },
                                  .dies = [this] { return compute_dies_; }}),
        context_(queue_, rig_.model().config(), options_, losses_) {
    for (const char* id : {"host", "card"}) trace_.add_unit(id);
  }

  // `early`: of the second unit.
  void prepare(AttentionLane& lane, bool early = false) {
    int unit = 0;
    for (LoggedUnit* device : {&host_, &card_}) {
      losses_.reserve_unit();
      losses_.add_unit();
      lane.add_unit(unit++, *device);
      lent_.add_unit(compute_, lane.host_rows());
    }
    for (std::size_t i = 0; i < kMaxSubBatches; ++i) {
      const RowGroup groups[] = {{{&places_[0], 1}, 3, 1, 0}, {{&places_[1], 1}, 3, 1, 1}};
      lent_.layouts[i].resize(1);
      lent_.layouts[i][0].build(groups, 16, {false, early});
    }
    step_ = {&lent_, &windows_, {0, 2}};
    lane.begin(step_);
  }
  std::vector<std::string> take_log() { return std::exchange(log_, {}); }

  EngineRig rig_;
  bool compute_dies_ = false, has_no_memory_ = false;
  test::QueuedComputeUnit compute_;
  StepTrace trace_{nullptr, "gpu"};
  ComputeQueue queue_{compute_, trace_};
  ExecutorOptions options_{.max_rows = 8};
  UnitLosses losses_;
  LaneContext context_;
  std::vector<std::string> log_;
  LoggedUnit host_{"host", false, log_}, card_{"card", true, log_};
  const LayerWindows windows_{rig_.model().config()};
  LentBuffers lent_{compute_, rig_.model().config(), 8};
  const BlockPlace places_[2] = {{0, 0}, {1, 0}};
  LaneStep step_;
  const StepPlace first_{0, 0}, second_{0, 1};
};

}  // namespace tandem::engine
