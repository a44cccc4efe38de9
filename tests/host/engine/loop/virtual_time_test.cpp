// SPDX-License-Identifier: Apache-2.0
//
// The loop, the scheduler and the KV cache that serve, in virtual time and on doubles: hours of
// serving without a model, a device or a wait.
#include <gmock/gmock.h>

#include "engine/kv_cache/kv_mover.h"
#include "engine/kv_cache/kv_parking.h"
#include "engine/kv_cache/patient_copy.h"
#include "host/engine/loop/virtual_time_rig.h"

namespace tandem::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

TEST_F(VirtualTime, HoursOfServingGiveEveryRequestItsTokens) {
  options_.num_sub_batches = 2;
  options_.kv_moves = true;
  start(two_units({.num_pages = 14}, {.num_pages = 10, .read_bandwidth = 3e8}));
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 1500; ++i) {
    requests.push_back(request(32, 1 + i % 40, 10 + static_cast<int>(i % 5) * 15, i));
  }
  serve(requests, seconds(5));
  expect_all_served();
  EXPECT_GT(clock_.now().time_since_epoch(), std::chrono::hours(2));
  const EngineStatus status = loop_->status();
  EXPECT_GT(status.cached_tokens, 0u);
  EXPECT_GT(status.preemptions, 0u);
  EXPECT_GT(status.moved_pages, 0u);
  EXPECT_EQ(pages_used(), 0u);
}

TEST_F(VirtualTime, ARunnerWithoutASamplerGivesTheSameTokens) {
  runner_.samples = false;
  start(two_units({}, {}));
  serve({request(0, 70, 20, 1), request(0, 5, 30, 2)}, seconds(1));
  expect_all_served();
}

TEST_F(VirtualTime, TimesOfARequestAreThoseOfTheClockToTheTick) {
  options_.max_step_tokens = 4;
  start(two_units({}, {}));
  submit(request(0, 10, 3, 1));
  clock_.advance(seconds(5));
  while (!loop_->idle()) step();
  const RequestTimes& times = served_.at(1).last.times;
  EXPECT_DOUBLE_EQ(times.queued, 5.0);
  EXPECT_DOUBLE_EQ(times.prefill, 3 * 0.5 + 10 * 0.01);
  EXPECT_DOUBLE_EQ(times.time_to_first_token, 5.0 + 3 * 0.5 + 10 * 0.01);
  EXPECT_DOUBLE_EQ(times.decode, 2 * (0.5 + 0.01));
}

// 96 of the 100 tokens are cached, so that there is room for both in a step of 64 rows.
TEST_F(VirtualTime, OneStepTakesTwoWaitingSequencesWhenThePrefixOfTheFirstIsCached) {
  start(two_units({}, {}));
  serve({request(96, 4, 2, 1)}, seconds(1));
  submit(request(96, 4, 9, 2));
  submit(request(0, 20, 9, 3));
  step();
  EXPECT_EQ(loop_->status().running, 2);
  EXPECT_EQ(loop_->status().waiting, 0);
  while (!loop_->idle()) step();
  expect_all_served();
}

TEST_F(VirtualTime, AUnitThatFallsSilentIsLostWhenItsDeadlineHasPassed) {
  options_.placement = Placement::kPages;
  start(two_units({.dies_at = Clock::TimePoint(seconds(100))}, {}));
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 40; ++i) requests.push_back(request(32, 20, 30, i));
  serve(requests, seconds(4));
  expect_all_served();
  const EngineStatus status = loop_->status();
  EXPECT_FALSE(status.units[0].alive);
  EXPECT_TRUE(status.units[1].alive);
  EXPECT_GT(status.rebuilt_sequences, 0u);
  EXPECT_EQ(pages_used(), 0u);
}

// In step 22 a sequence of 16 pages on the first unit needs one more and none is left: the newest
// one, with 7 pages on the second unit, is preempted, and a short one of 4 pages on the first ends.
// The first is 80 % full then, the second 70 %: only pressure moves a page.
TEST_F(VirtualTime, PagesLeaveAUnitAboveTheLowWaterMarkInTheStepBehindAPreemption) {
  options_.kv_moves = true;
  options_.prefix_cache = false;
  options_.max_step_tokens = 1024;
  start(two_units({.num_pages = 20}, {.num_pages = 20}));
  submit(request(0, 34, 22, 1));
  submit(request(0, 182, 60, 2));
  submit(request(0, 236, 60, 3));
  submit(request(0, 78, 60, 4));
  for (int i = 0; i < 22; ++i) step();
  const EngineStatus status = loop_->status();
  EXPECT_EQ(status.units[0].pages_used, 16u);
  EXPECT_EQ(status.units[1].pages_used, 14u);
  EXPECT_EQ(status.preemptions, 1u);
  EXPECT_EQ(status.moved_pages, 0u);
  step();
  EXPECT_EQ(loop_->status().moved_pages, 1u);
  while (!loop_->idle()) step();
  expect_all_served();
}

TEST_F(VirtualTime, AnIdleLoopSeesThatAUnitIsGone) {
  start(two_units({.dies_at = Clock::TimePoint(seconds(100))}, {}));
  EXPECT_FALSE(loop_->check_units());
  clock_.advance(seconds(100));
  EXPECT_TRUE(loop_->check_units());
  EXPECT_FALSE(loop_->check_units()) << "it is lost once";
  EXPECT_EQ(loop_->max_request_tokens(), 64 * 16);
}

TEST_F(VirtualTime, AUnitThatHangsUnusedIsLostAfterItsTimeout) {
  options_.device_timeout = milliseconds(1500);
  start(two_units({.num_pages = 4}, {.hangs_at = Clock::TimePoint(seconds(100))}));
  EXPECT_FALSE(loop_->check_units());
  clock_.advance_to(Clock::TimePoint(seconds(100)));
  EXPECT_FALSE(loop_->check_units()) << "it may be slow";
  clock_.advance(seconds(1));
  EXPECT_FALSE(loop_->check_units(EngineLoop::UnitsAsked::kUnused));
  clock_.advance(milliseconds(300));
  EXPECT_TRUE(loop_->check_units(EngineLoop::UnitsAsked::kUnused));
  EXPECT_THAT(loop_->status().lost_units(), ElementsAre("second"));
}

TEST_F(VirtualTime, AUnitThatHoldsPagesOfRunningSequencesIsNotAskedBesides) {
  options_.device_timeout = milliseconds(50);
  start(two_units({.num_pages = 4}, {.hangs_at = Clock::TimePoint(seconds(0))}));
  submit(request(0, 100, 9, 1));
  step();
  EXPECT_GT(loop_->status().units[1].pages_used, 0u);
  EXPECT_FALSE(loop_->check_units(EngineLoop::UnitsAsked::kUnused));
  EXPECT_TRUE(loop_->check_units());
}

TEST_F(VirtualTime, ALostUnitIsGivenAwayAndTakesSequencesAgainWhenItIsBack) {
  std::vector<std::string> warnings, notices;
  options_.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  options_.on_notice = [&](const std::string& text) { notices.push_back(text); };
  LoopFallbacks fallbacks;
  fallbacks.lost_units_return = true;
  start(two_units({.dies_at = Clock::TimePoint(seconds(20))}, {}), std::move(fallbacks));
  for (std::uint32_t i = 0; i < 8; ++i) submit(request(0, 20, 80, i));
  std::vector<NamedUnit> lost;
  while (lost.empty()) {
    ASSERT_FALSE(loop_->idle());
    step();
    lost = loop_->take_lost_units();
  }
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost.front().id, "first");
  lost.clear();
  EXPECT_THAT(loop_->status().lost_units(), ElementsAre("first"));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings.front(), testing::HasSubstr("attention unit first is lost"));
  for (int i = 0; i < 3; ++i) step();

  loop_->return_unit(unit("first", {}));
  EXPECT_THAT(notices, ElementsAre("attention unit first is back"));
  EXPECT_THAT(loop_->status().lost_units(), ElementsAre());
  EXPECT_EQ(loop_->max_request_tokens(), 128 * 16);
  for (std::uint32_t i = 0; i < 8; ++i) submit(request(0, 20, 80, 50 + i));
  step();
  const EngineStatus status = loop_->status();
  ASSERT_EQ(status.units.size(), 2u);
  EXPECT_EQ(status.units[0].id, "first");
  EXPECT_GT(status.units[0].pages_used, 0u);
  EXPECT_EQ(status.units[0].losses, 1u);
  EXPECT_EQ(status.units[1].losses, 0u);
  while (!loop_->idle()) step();
  expect_all_served();
}

NamedUnit busy_for_a_second(NamedUnit unit) {
  dynamic_cast<VirtualUnit&>(*unit.unit).add_busy(1);
  return unit;
}

TEST_F(VirtualTime, AUnitThatIsLostAndComesBackAgainAndAgainTakesOnePlace) {
  LoopFallbacks fallbacks;
  fallbacks.lost_units_return = true;
  std::vector<NamedUnit> units = two_units({.dies_at = Clock::TimePoint(seconds(5))}, {});
  units[0] = busy_for_a_second(std::move(units[0]));
  start(std::move(units), std::move(fallbacks));
  for (std::uint32_t round = 1; round <= 3; ++round) {
    for (std::uint32_t i = 0; i < 8; ++i) submit(request(0, 20, 80, 10 * round + i));
    while (!loop_->idle()) step();
    ASSERT_EQ(loop_->take_lost_units().size(), 1u);
    VirtualUnitOptions again;
    if (round < 3) again.dies_at = clock_.now() + seconds(5);
    loop_->return_unit(busy_for_a_second(unit("first", again)));
    ASSERT_EQ(loop_->status().units.size(), 2u);
    EXPECT_EQ(loop_->status().units[0].losses, round);
    EXPECT_EQ(loop_->status().units[0].stats.busy_seconds, round + 1) << "of all of its name";
    EXPECT_THAT(loop_->status().lost_units(), ElementsAre());
  }
  EXPECT_EQ(loop_->max_request_tokens(), 128 * 16);
  expect_all_served();
}

TEST_F(VirtualTime, AUnitThatComesBackEndsTheStateWithoutAny) {
  LoopFallbacks fallbacks;
  fallbacks.lost_units_return = true;
  std::vector<NamedUnit> units;
  units.push_back(unit("only", {.dies_at = Clock::TimePoint(seconds(5))}));
  start(std::move(units), std::move(fallbacks));
  const RequestId failed = submit(request(0, 20, 80, 1));
  while (!loop_->idle()) step();
  EXPECT_EQ(served_.at(failed).last.finish, FinishReason::kError);
  EXPECT_TRUE(loop_->status().broken);
  loop_->return_unit(unit("only", {}));
  EXPECT_FALSE(loop_->status().broken);
  const RequestId served = submit(request(0, 20, 80, 1));
  while (!loop_->idle()) step();
  expect_served(served);
}

TEST_F(VirtualTime, AUnitThatDoesNotFitIsRefusedWithAWarning) {
  std::vector<std::string> warnings;
  options_.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  start(two_units({}, {}));
  loop_->return_unit(unit("first", {.num_pages = 0}));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings.front(), testing::HasSubstr("it has no pages"));
  EXPECT_EQ(loop_->status().units.size(), 2u);
}

TEST_F(VirtualTime, AFailedRunnerSaysWhatIsLostBesidesAndItsFallbackGoesOn) {
  runner_.dies_at = Clock::TimePoint(seconds(30));
  runner_.lost_with_it = {1};
  options_.placement = Placement::kInterleave;
  VirtualRunnerOptions next = runner_;
  next.dies_at = kNever;
  next.lost_with_it = {};
  start(two_units({}, {}),
        {{}, [&] { return std::make_unique<VirtualSource>("second compute", clock_, next); }});
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 20; ++i) requests.push_back(request(0, 20, 30, i));
  serve(requests, seconds(2));
  expect_all_served();
  const EngineStatus status = loop_->status();
  EXPECT_EQ(status.lost_compute_id, "first compute");
  EXPECT_EQ(status.compute_id, "second compute");
  EXPECT_TRUE(status.units[0].alive);
  EXPECT_FALSE(status.units[1].alive);
  EXPECT_GT(status.rebuilt_sequences, 0u);
}

TEST_F(VirtualTime, WithoutAFallbackAFailedRunnerEndsEveryRequest) {
  runner_.dies_at = Clock::TimePoint(seconds(5));
  start(two_units({}, {}));
  submit(request(0, 20, 100, 1));
  while (!loop_->idle()) step();
  EXPECT_EQ(served_.at(1).last.finish, FinishReason::kError);
  EXPECT_TRUE(loop_->status().broken);
}

// Cost by attended tokens: one long context takes as long as many short ones.
TEST_F(VirtualTime, TheLoopDividesAStepByItsCostTable) {
  class Recorder final : public planner::StepCost {
   public:
    double seconds(const planner::StepWork& work) const override {
      most_attended = std::max(most_attended, work.attended_tokens);
      return static_cast<double>(work.attended_tokens);
    }
    mutable std::int64_t most_attended = 0;
  };
  Recorder recorder;
  options_.num_sub_batches = 2;
  options_.clock = &clock_;
  options_.step_cost = &recorder;
  VirtualSource source("compute", clock_, runner_);
  loop_ =
      std::make_unique<EngineLoop>(model_, source, two_units({}, {}), options_, LoopFallbacks{});
  submit(request(0, 30, 4, 1));
  submit(request(0, 3, 4, 2));
  while (!loop_->idle()) step();
  expect_all_served();
  EXPECT_EQ(recorder.most_attended, 30 * 31 / 2);
}

class VirtualMoves : public VirtualTime {
 protected:
  // A sequence of six pages on the first of two units; moves four at most.
  MoveResult move(VirtualUnit& from, VirtualUnit& to) {
    kv_.add_unit(from.capacity().num_pages, 1e9);
    EXPECT_TRUE(kv_.extend(table_, 96));
    kv_.add_unit(to.capacity().num_pages, 1e9);
    PageTable* tables[] = {&table_};
    return mover_.move({0, 0, 1, 6}, from, to, tables, true);
  }
  Clock::Duration spent() const { return clock_.now().time_since_epoch(); }

  KvCache kv_{16, Placement::kSequences, true};
  KvMover mover_{kv_, kVirtualGeometry, seconds(10), clock_};
  PageTable table_;
};

TEST_F(VirtualMoves, ASliceEndsByTheClock) {
  VirtualUnit from(kVirtualGeometry, clock_, {.page_time = microseconds(250)});
  VirtualUnit to(kVirtualGeometry, clock_, {.page_time = microseconds(250)});
  EXPECT_EQ(move(from, to).num_pages, 4u) << "half a millisecond each, two in all";
  EXPECT_EQ(spent(), milliseconds(2));
  EXPECT_THAT(table_.held, ElementsAre(2u, 4u));
}

// Where pages are dealt, the compute device's own memory gives the prefix, and others the tail.
TEST_F(VirtualMoves, TheTailStaysNear) {
  for (const int near : {0, 1}) {
    KvCache kv{16, Placement::kPages, false};
    kv.add_unit(64, 1e9, 1), kv.add_unit(64, 1e9, 1e-9);
    kv.set_near(near);
    PageTable table;
    ASSERT_TRUE(kv.extend(table, 96));
    KvMover mover(kv, kVirtualGeometry, seconds(10), clock_);
    VirtualUnit from(kVirtualGeometry, clock_, {}), to(kVirtualGeometry, clock_, {});
    PageTable* tables[] = {&table};
    EXPECT_EQ(mover.move({0, 0, 1, 2}, from, to, tables, false).num_pages, 2u);
    EXPECT_EQ(table.blocks.front().unit, near == 0 ? 1 : 0);
    EXPECT_EQ(table.blocks.back().unit, near == 0 ? 0 : 1);
  }
}

// The device timeout is 10 s.
TEST_F(VirtualMoves, ADeadUnitIsFoundWithinTheirPatience) {
  VirtualUnit from(kVirtualGeometry, clock_, {.page_time = milliseconds(1)});
  VirtualUnit to(kVirtualGeometry, clock_, {.page_time = milliseconds(1)});
  to.die();
  const MoveResult result = move(from, to);
  EXPECT_EQ(result.num_pages, 0u);
  EXPECT_EQ(result.lost_unit, 1);
  EXPECT_EQ(spent(), kPatience + milliseconds(1));
  EXPECT_EQ(kv_.unit_pages(1).used, 0u);
  EXPECT_TRUE(mover_.stopped().empty()) << "the unit may come back";
}

TEST_F(VirtualMoves, ADeadSourceIsFoundToo) {
  VirtualUnit from(kVirtualGeometry, clock_, {.page_time = milliseconds(1)});
  VirtualUnit to(kVirtualGeometry, clock_, {.page_time = milliseconds(1)});
  from.die();
  EXPECT_EQ(move(from, to).lost_unit, 0);
  EXPECT_EQ(spent(), kPatience);
}

TEST_F(VirtualMoves, APageThatIsNotThereInTimeEndsTheMovesOfThisPair) {
  VirtualUnit from(kVirtualGeometry, clock_, {.page_time = milliseconds(1)});
  VirtualUnit to(kVirtualGeometry, clock_, {.page_time = milliseconds(401)});
  const MoveResult result = move(from, to);
  EXPECT_EQ(result.num_pages, 0u);
  EXPECT_EQ(result.lost_unit, -1) << "it is alive";
  EXPECT_EQ(spent(), kPatience + milliseconds(1));
  ASSERT_EQ(mover_.stopped().size(), 1u);
  EXPECT_EQ(mover_.stopped().front(), (UnitPair{0, 1}));
  EXPECT_EQ(kv_.unit_pages(1).used, 0u);
  EXPECT_EQ(kv_.unit_pages(1).total, to.capacity().num_pages - 1)
      << "the unit may still write the page";
  EXPECT_THAT(table_.held, ElementsAre(6u));
}

TEST_F(VirtualMoves, APageThatDoesNotLeaveInTimeTakesNoOtherPage) {
  VirtualUnit from(kVirtualGeometry, clock_, {.page_time = milliseconds(401)});
  VirtualUnit to(kVirtualGeometry, clock_, {.page_time = milliseconds(1)});
  EXPECT_EQ(move(from, to).lost_unit, -1);
  EXPECT_EQ(kv_.unit_pages(1).used, 0u);
  EXPECT_EQ(mover_.stopped().size(), 1u);
}

TEST_F(VirtualMoves, AParkedPageMayTakeAsLongAsTheirPatience) {
  VirtualUnit unit(kVirtualGeometry, clock_, {.page_time = kPatience});
  kv_.add_unit(unit.capacity().num_pages, 1e9);
  ASSERT_TRUE(kv_.extend(table_, 16));
  const auto at = [&](int) -> device::AttentionUnit& { return unit; };
  KvParking parking(1 << 20, kVirtualGeometry, seconds(1), clock_, at);
  for (const std::uint64_t id : {1, 2}) {
    EXPECT_EQ(parking.park(id, table_, 16), -1);
    EXPECT_EQ(parking.num_tokens(id), 16);
  }
  EXPECT_FALSE(parking.is_stopped(table_));
  unit.set_page_time(kPatience + milliseconds(1));
  const KvParking::Restored late = parking.restore(1, table_, 0);
  EXPECT_FALSE(late.done);
  EXPECT_EQ(late.lost_unit, -1) << "it is alive";
  EXPECT_EQ(late.late, table_.blocks.front());
  EXPECT_EQ(spent(), 3 * kPatience);
  EXPECT_TRUE(parking.is_stopped(table_));
  EXPECT_EQ(parking.park(3, table_, 16), -1);
  EXPECT_EQ(parking.num_tokens(3), 0);
  unit.die();
  EXPECT_EQ(parking.restore(2, table_, 0).lost_unit, 0);
  EXPECT_EQ(spent(), 5 * kPatience);
}

}  // namespace
}  // namespace tandem::engine
