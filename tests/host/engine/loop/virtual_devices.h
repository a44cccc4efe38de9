// SPDX-License-Identifier: Apache-2.0
//
// Devices in virtual time, for the loop that serves: a step runner and attention units that compute
// nothing and only let time pass.
//
// A page holds the tokens that were appended to it, and the next token of a sequence is a hash of
// all its tokens, read from its pages: a wrong page, a lost append or a move to the wrong place
// gives other tokens. Threads: one. Ownership: all borrow the clock.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "device/attention_unit.h"
#include "engine/steps/step_runner.h"
#include "planner/cost/step_cost.h"

namespace tandem::engine {

constexpr auto kNever = Clock::TimePoint::max();

// What the model of these tests says behind `tokens`.
TokenId next_token(std::span<const TokenId> tokens, int vocab_size);

struct VirtualUnitOptions {
  std::uint32_t num_pages = 64;
  double read_bandwidth = 1e9;
  Clock::TimePoint dies_at = kNever;   // from then on it answers nothing
  Clock::TimePoint hangs_at = kNever;  // from then on is_alive() waits for an answer in vain
  Clock::Duration page_time{};         // of moving a page out or in
  double link_bandwidth = 0;           // 0: there is no link
  bool check_fails = false;            // is_alive() throws an error that says nothing of the unit
};

class VirtualUnit final : public device::AttentionUnit {
 public:
  VirtualUnit(const device::AttentionGeometry& geometry, VirtualClock& clock,
              const VirtualUnitOptions& options);

  const device::AttentionGeometry& geometry() const override { return geometry_; }
  device::AttentionCapacity capacity() const override;
  device::Ticket submit(const device::AttentionBatch&, device::AttentionPartial) override;
  device::WaitResult wait(device::Ticket, Deadline) override;
  device::WaitResult export_page(device::PageId page, std::span<std::byte> to,
                                 Deadline deadline) override;
  device::WaitResult import_page(device::PageId page, std::span<const std::byte> from,
                                 Deadline deadline) override;
  bool is_alive() override {
    if (clock_.now() >= options_.hangs_at) clock_.advance(std::chrono::milliseconds(100));
    if (options_.check_fails) throw Error("virtual", "the check failed");
    return works();
  }
  void die() { is_dead_ = true; }
  device::AttentionStats stats() const override {
    device::AttentionStats stats;
    stats.busy_seconds = busy_s_;
    return stats;
  }
  void set_page_time(Clock::Duration time) { options_.page_time = time; }
  void add_busy(double seconds) { busy_s_ += seconds; }

  TokenId& token(device::PageId page, int slot) {
    return tokens_.at(page * static_cast<std::size_t>(geometry_.page_tokens) +
                      static_cast<std::size_t>(slot));
  }

 private:
  bool works() const { return !is_dead_ && clock_.now() < options_.dies_at; }
  // Lets the time of a move pass, but not past the deadline.
  device::WaitResult move(Deadline deadline);

  const device::AttentionGeometry geometry_;
  VirtualClock& clock_;
  VirtualUnitOptions options_;
  std::vector<TokenId> tokens_;  // [num_pages, page_tokens]
  double busy_s_ = 0;
  bool is_dead_ = false;
};

// What a step takes, and its parts.
struct VirtualStep {
  double seconds = 0;
  StepTimes parts;
  std::vector<double> unit_busy_s;  // [units]
};

struct VirtualRunnerOptions {
  int vocab_size = 0;
  bool samples = true;  // else it gives logits
  const planner::StepCost* cost = nullptr;
  // Instead of `cost`, where it is set.
  std::function<VirtualStep(std::span<const RunnerItem>)> machine;
  StepWays ways;
  StepWay* way = nullptr;  // where the last choice is put
  Clock::Duration device_timeout{};
  Clock::TimePoint dies_at = kNever;  // what computes
  std::vector<int> lost_with_it;      // attention units, by take_lost()
  bool follows_rows = true;  // and can be interrupted after each of so many parts of its time
  int num_parts = 8;
  // Called before the rows run, and behind the first result; may throw. May be empty.
  std::function<void(std::span<const RunnerItem>)> before_run, between_results;
  // Called behind the first of several rows of logits of the first item; may throw. May be empty.
  std::function<void()> between_rows;
};

class VirtualRunner final : public StepRunner {
 public:
  VirtualRunner(VirtualClock& clock, VirtualRunnerOptions options)
      : clock_(clock), options_(std::move(options)) {}

  const LoadedWeights& weights() const override { return weights_; }
  void add_unit(device::AttentionUnit& unit, const std::string& id) override;
  void replace_unit(int unit, device::AttentionUnit& with) override;
  bool shares_queue_with(const device::AttentionUnit&) const override { return false; }
  bool samples() const override { return options_.samples; }
  std::vector<int> run(std::span<const RunnerItem> items, const LogitsSink& logits,
                       const TokenSink& tokens) override;
  std::vector<int> take_lost() override { return std::exchange(options_.lost_with_it, {}); }
  bool is_silent(int) const override { return true; }  // a lost unit answers nothing
  bool follows_rows() const override { return options_.follows_rows; }
  void interrupt_when(std::function<bool()> interrupts) override {
    interrupts_ = std::move(interrupts);
  }
  StepWays ways() const override { return options_.ways; }
  void choose_way(const StepWay& way) override {
    if (options_.way != nullptr) *options_.way = way;
  }
  bool holds_lent() const override { return false; }
  device::ComputeStats stats() const override { return {num_steps_, 0, 0}; }
  std::optional<StepTimes> last_times() const override { return last_times_; }

 private:
  double seconds_of(std::span<const RunnerItem> items);
  // Units that the items need and that no longer answer.
  std::vector<int> silent_units(std::span<const RunnerItem> items) const;
  bool pass(Clock::Duration time);  // false: interrupted on the way
  std::vector<TokenId> append(const RunnerItem& item);
  void answer(std::size_t index, const RunnerItem& item, std::span<const TokenId> known,
              const LogitsSink& logits, const TokenSink& tokens) const;
  TokenId& token_at(const RunnerItem& item, int position);

  VirtualClock& clock_;
  VirtualRunnerOptions options_;
  std::function<bool()> interrupts_;
  const LoadedWeights weights_;
  std::vector<VirtualUnit*> units_;
  int page_tokens_ = 1;
  std::uint64_t num_steps_ = 0;
  std::optional<StepTimes> last_times_;
};

class VirtualSource final : public StepRunnerSource {
 public:
  VirtualSource(std::string id, VirtualClock& clock, VirtualRunnerOptions options)
      : id_(std::move(id)), clock_(clock), options_(std::move(options)) {}
  std::string id() const override { return id_; }
  std::unique_ptr<StepRunner> make(const StepShape&) override {
    return std::make_unique<VirtualRunner>(clock_, options_);
  }

 private:
  const std::string id_;
  VirtualClock& clock_;
  const VirtualRunnerOptions options_;
};

}  // namespace tandem::engine
