// SPDX-License-Identifier: Apache-2.0
//
// A step that the runner refuses costs at most the requests in it that are refused alone too. All
// others, running and queued, get their tokens.
#include <gmock/gmock.h>

#include "common/error.h"
#include "host/engine/loop/virtual_time_rig.h"

namespace tandem::engine {
namespace {

using ::testing::HasSubstr;

constexpr TokenId kRefused = 49;

class RefusedSteps : public VirtualTime {
 protected:
  RefusedSteps() {
    options_.on_warning = [this](const std::string& text) { warnings_.push_back(text); };
  }
  // Six requests, four of them running; the prompt of one begins with kRefused.
  void submit_six(RequestId refused) {
    for (std::uint32_t i = 1; i <= 6; ++i) {
      Request added = request(0, 20, 12, i);
      std::ranges::replace(added.prompt, kRefused, kRefused - 1);
      if (i == refused) added.prompt.front() = kRefused;
      submit(added);
    }
  }
  void run() {
    for (int i = 0; i < 1000 && !loop_->idle(); ++i) step();
    EXPECT_TRUE(loop_->idle());
    EXPECT_EQ(pages_used(), 0u);
  }

  std::vector<std::string> warnings_;
  int num_thrown_ = 0;
};

// Refuses what holds the beginning of the prompt that begins with kRefused.
void refuse_marked(std::span<const RunnerItem> items) {
  for (const RunnerItem& item : items) {
    if (item.past == 0 && item.tokens.front() == kRefused) throw Error("test", "a bad batch");
  }
}

TEST_F(RefusedSteps, OnlyTheRequestThatIsRefusedAloneTooFails) {
  options_.max_running = 4;
  runner_.before_run = refuse_marked;
  start(two_units({}, {}));
  submit_six(3);
  run();
  for (const RequestId id : {1, 2, 4, 5, 6}) expect_served(id);
  EXPECT_EQ(served_.at(3).last.finish, FinishReason::kError);
  EXPECT_THAT(served_.at(3).last.error, HasSubstr("a bad batch"));
  EXPECT_EQ(loop_->status().refused_steps, 1u);
  EXPECT_FALSE(loop_->status().broken);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_.front(), HasSubstr("a step of 4 requests was refused"));
}

TEST_F(RefusedSteps, ARefusalThatDoesNotComeBackCostsNothing) {
  options_.num_sub_batches = 2;
  runner_.before_run = [this](std::span<const RunnerItem> items) {
    if (items.size() > 1 && ++num_thrown_ % 3 == 0) throw std::bad_alloc();
  };
  start(two_units({}, {}));
  submit_six(0);
  run();
  expect_all_served();
  EXPECT_GT(loop_->status().refused_steps, 2u);
}

// The first result has been handed over when the step is refused: it is not sampled twice.
TEST_F(RefusedSteps, AResultThatWasThereAlreadyStays) {
  runner_.between_results = [this](std::span<const RunnerItem> items) {
    if (items.size() > 1 && ++num_thrown_ % 2 == 0) throw Error("test", "in the middle");
  };
  start(two_units({}, {}));
  submit_six(0);
  run();
  expect_all_served();
}

TEST_F(RefusedSteps, AUnitThatIsLostInARetryLosesNoRequest) {
  options_.placement = Placement::kInterleave;
  runner_.before_run = [this](std::span<const RunnerItem> items) {
    if (items.size() == 1 || clock_.now().time_since_epoch() < std::chrono::seconds(4)) return;
    if (num_thrown_++ > 0) return;
    clock_.advance(std::chrono::seconds(96));
    throw Error("test", "refused, and the unit dies");
  };
  start(two_units({.dies_at = Clock::TimePoint(std::chrono::seconds(100))}, {}));
  submit_six(0);
  run();
  expect_all_served();
  EXPECT_FALSE(loop_->status().units[0].alive);
}

// Throws when it is asked for the n-th time.
class ThrowingClock final : public Clock {
 public:
  explicit ThrowingClock(std::vector<int> calls) : calls_(std::move(calls)) {}
  TimePoint now() const override {
    if (std::ranges::find(calls_, ++num_calls_) != calls_.end()) throw std::bad_alloc();
    return {};
  }

 private:
  const std::vector<int> calls_;
  mutable int num_calls_ = 0;
};

// The clock is asked at submit() and then between queue and batch.
TEST_F(RefusedSteps, ARequestWhoseAdmissionThrowsStaysInTheQueue) {
  ThrowingClock clock({2});
  start(two_units({}, {}));
  serve({request(64, 8, 2, 9)}, std::chrono::seconds(1));  // a prefix that it attaches to
  request_clock_ = &clock;
  submit(request(64, 20, 5, 1));
  request_clock_ = &clock_;
  submit(request(64, 20, 5, 2));
  step();
  EXPECT_EQ(loop_->status().waiting, 1);
  run();
  expect_all_served();
}

TEST_F(RefusedSteps, ARequestWhoseAdmissionThrowsTwiceFailsAlone) {
  ThrowingClock clock({2, 3});
  start(two_units({}, {}));
  request_clock_ = &clock;
  const RequestId bad = submit(request(0, 20, 5, 1));
  request_clock_ = &clock_;
  const RequestId good = submit(request(0, 20, 5, 2));
  run();
  expect_served(good);
  EXPECT_EQ(served_.at(bad).last.finish, FinishReason::kError);
}

TEST_F(RefusedSteps, AListenerThatThrowsFailsTheRequestThatItHearsOf) {
  start(two_units({}, {}));
  loop_->on_token = [](Sequence& sequence) {
    if (sequence.id() == 2) throw std::runtime_error("not this one");
  };
  submit_six(0);
  run();
  for (const RequestId id : {1, 3, 4, 5, 6}) expect_served(id);
  EXPECT_EQ(served_.at(2).last.finish, FinishReason::kError);
}

// A plan that cannot be made ends the running requests at the second time, not the queued ones.
TEST_F(RefusedSteps, APlanThatFailsOnceCostsNothingAndTwiceTheRunningRequests) {
  class FailingCost final : public planner::StepCost {
   public:
    double seconds(const planner::StepWork&) const override {
      if (num_failures > 0 && num_failures-- > 0) throw std::bad_alloc();
      return 1;
    }
    mutable int num_failures = 0;
  };
  FailingCost cost;
  options_.num_sub_batches = 2;
  options_.max_running = 2;
  options_.clock = &clock_;
  options_.step_cost = &cost;
  VirtualSource source("compute", clock_, runner_);
  loop_ =
      std::make_unique<EngineLoop>(model_, source, two_units({}, {}), options_, LoopFallbacks{});
  submit_six(0);
  step();
  cost.num_failures = 1;
  step();
  EXPECT_EQ(loop_->status().running, 2);
  step();
  cost.num_failures = 1;
  step();
  EXPECT_EQ(loop_->status().running, 2) << "a step that went well lies between";
  step();
  cost.num_failures = 3;
  step();
  step();
  EXPECT_EQ(loop_->status().running, 0);
  step();
  EXPECT_EQ(loop_->status().waiting, 4) << "the third is the first of the next plan";
  EXPECT_EQ(served_.at(1).last.finish, FinishReason::kError);
  run();
  for (const RequestId id : {3, 4, 5, 6}) expect_served(id);
}

}  // namespace
}  // namespace tandem::engine
