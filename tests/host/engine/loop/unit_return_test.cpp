// SPDX-License-Identifier: Apache-2.0
//
// Units that were lost and return get work again, and the fallback unit rests.
#include <gmock/gmock.h>

#include <utility>

#include "host/engine/loop/virtual_time_rig.h"

namespace tandem::engine {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class UnitReturn : public VirtualTime {
 protected:
  // Both units die at 5 s. The memory of the fallback is much faster than theirs.
  void lose_both() {
    options_.on_warning = [this](const std::string& text) { warnings_.push_back(text); };
    options_.on_notice = [this](const std::string& text) { notices_.push_back(text); };
    LoopFallbacks fallbacks;
    fallbacks.lost_units_return = true;
    fallbacks.attention = [this] {
      ++made_;
      return unit("cpu", {.num_pages = 200, .read_bandwidth = 1e12});
    };
    const VirtualUnitOptions mortal{.dies_at = Clock::TimePoint(seconds(5))};
    start(two_units(mortal, mortal), std::move(fallbacks));
    limit_ = loop_->max_request_tokens();
    submit_four();
    finish();
    ASSERT_THAT(loop_->status().lost_units(), ElementsAre("first", "second"));
    ASSERT_EQ(made_, 1);
    loop_->take_lost_units();
  }
  void submit_four() {
    for (int i = 0; i < 4; ++i) submit(request(0, 20, 40, ++seed_));
  }
  void finish() {
    while (!loop_->idle()) step();
  }
  void bring_back(const std::string& id, const VirtualUnitOptions& options = {}) {
    loop_->return_unit(unit(id, options));
  }
  std::uint32_t used(std::size_t index) const { return loop_->status().units[index].pages_used; }

  int made_ = 0, limit_ = 0;
  std::uint32_t seed_ = 0;
  std::vector<std::string> warnings_, notices_;
};

TEST_F(UnitReturn, TheFallbackRestsWhenTheOthersAreBack) {
  lose_both();
  bring_back("first");
  bring_back("second");
  notices_.clear();
  submit_four();
  step();
  EXPECT_THAT(notices_, ElementsAre("attention unit cpu rests: the others suffice again"));
  EXPECT_GT(used(0), 0u);
  EXPECT_GT(used(1), 0u);
  EXPECT_EQ(used(2), 0u);
  EXPECT_EQ(loop_->max_request_tokens(), limit_);
  EXPECT_THAT(loop_->status().lost_units(), ElementsAre()) << "a unit that rests is not lost";
  finish();
  expect_all_served();
  EXPECT_EQ(notices_.size(), 1u);
}

TEST_F(UnitReturn, SequencesOnTheFallbackMoveToTheUnitsThatAreBack) {
  lose_both();
  submit_four();
  for (int i = 0; i < 5; ++i) step();
  ASSERT_GT(used(2), 0u);
  const std::uint64_t rebuilt = loop_->status().rebuilt_sequences;
  bring_back("first");
  bring_back("second");
  step();
  EXPECT_EQ(used(2), 0u);
  EXPECT_GT(used(0) + used(1), 0u);
  finish();
  expect_all_served();
  EXPECT_EQ(loop_->status().rebuilt_sequences, rebuilt) << "no unit was lost";
}

TEST_F(UnitReturn, TheFallbackWorksWhileTheOthersHoldLessThanAtTheStart) {
  lose_both();
  bring_back("first");
  submit_four();
  step();
  EXPECT_GT(used(2), 0u);
  EXPECT_GT(loop_->max_request_tokens(), limit_);
  finish();
}

TEST_F(UnitReturn, TheFallbackWorksWhileARequestFitsNowhereElse) {
  lose_both();
  const RequestId id = submit(request(0, 20, limit_, ++seed_));
  bring_back("first");
  bring_back("second");
  step();
  EXPECT_GT(used(2), 0u);
  loop_->cancel(id);
  submit_four();
  step();
  EXPECT_EQ(used(2), 0u);
  finish();
}

TEST_F(UnitReturn, AFallbackThatRestsWorksAgainAfterTheNextLoss) {
  lose_both();
  const VirtualUnitOptions mortal{.dies_at = clock_.now() + seconds(5)};
  bring_back("first", mortal);
  bring_back("second", mortal);
  notices_.clear();
  for (int round = 0; round < 2; ++round) submit_four();
  finish();
  expect_all_served();
  EXPECT_EQ(made_, 1);
  EXPECT_THAT(loop_->status().lost_units(), ElementsAre("first", "second"));
  EXPECT_EQ(loop_->status().units.size(), 3u);
  EXPECT_EQ(loop_->status().units[2].pages_total, 200u);
  EXPECT_THAT(notices_,
              ElementsAre("attention unit cpu rests: the others suffice again",
                          "attention unit cpu works again, because the others do not suffice"));
}

// It is measured beside running work, and seems a thousand times slower.
TEST_F(UnitReturn, AUnitThatReturnsGetsAsMuchAsBefore) {
  LoopFallbacks fallbacks;
  fallbacks.lost_units_return = true;
  start(two_units({.dies_at = Clock::TimePoint(seconds(5))}, {}), std::move(fallbacks));
  clock_.advance_to(Clock::TimePoint(seconds(5)));
  ASSERT_TRUE(loop_->check_units());
  bring_back("first", {.read_bandwidth = 1e6});
  submit_four();
  step();
  EXPECT_EQ(used(0), used(1));
  finish();
  expect_all_served();
}

TEST_F(UnitReturn, TheWarningSaysWhetherAUnitFailedOrGaveNoAnswer) {
  options_.device_timeout = std::chrono::milliseconds(100);
  options_.on_warning = [this](const std::string& text) { warnings_.push_back(text); };
  start(two_units({.dies_at = Clock::TimePoint(seconds(5))},
                  {.hangs_at = Clock::TimePoint(seconds(5))}));
  clock_.advance_to(Clock::TimePoint(seconds(5)));
  ASSERT_TRUE(loop_->check_units());
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_THAT(warnings_[0], HasSubstr("first is lost: it failed; 0 requests are computed again"));
  EXPECT_THAT(warnings_[1], HasSubstr("second is lost: it gave no answer for 100 ms; 0 requests"));
}

TEST_F(UnitReturn, TheWarningOfAStepCountsOneRequestAsOne) {
  options_.on_warning = [this](const std::string& text) { warnings_.push_back(text); };
  options_.device_timeout = std::chrono::milliseconds(100);
  start(two_units({.dies_at = Clock::TimePoint(seconds(5))}, {}));
  submit(request(0, 20, 40, 1));
  finish();
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("gave no answer for 100 ms; 1 request is computed again"));
}

}  // namespace
}  // namespace tandem::engine
