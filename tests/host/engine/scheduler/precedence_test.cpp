// SPDX-License-Identifier: Apache-2.0
//
// The order between callers, by example: prompts of a caller that was served less come first, and
// so do requests before which too many others were admitted.
#include <gmock/gmock.h>

#include <sstream>

#include "engine/scheduler/shares.h"
#include "host/engine/scheduler/running_views.h"

namespace tandem::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SchedulerOptions kPrecedenceOptions{
    .max_running = 8, .max_step_tokens = 32, .rows_beside = 2, .page_tokens = 4};

StepPlan plan_of(std::span<const WaitingView> waiting, std::span<const RunningView> running,
                 int available, int total, std::span<const CallerView> callers = kTwoCallers,
                 const SchedulerOptions& options = kPrecedenceOptions) {
  return plan_step({waiting, running, callers, available, total}, options, planner::cost_of_rows());
}

constexpr WaitingView kPrompt{.id = 9, .num_tokens = 6, .caller = 1};

TEST(Precedence, APromptRunsWithFewRowsOfACallerThatHasHadAsMuch) {
  RunningView running[] = {decoding(1, 0), decoding(2, 0), decoding(3, 0), decoding(4, 0)};
  running[1].last_step = 8;
  running[2].last_step = 5;
  running[3].last_step = 7;
  const StepPlan plan = plan_of({&kPrompt, 1}, running, 100, 108);
  EXPECT_THAT(plan.items, ElementsAre(StepItem{1, 4, 1, true, 0}, StepItem{3, 4, 1, true, 0},
                                      StepItem{9, 0, 6, true, 0}))
      << "its oldest, and the one that waits longest";
  EXPECT_TRUE(plan.holds_back);
  std::ostringstream out;
  out << plan;
  EXPECT_EQ(out.str(), "step: 1 sub-batches; admit 9; hold back; run 0: 1@4+1! 3@4+1! 9@0+6!");
}

TEST(Precedence, NobodyIsHeldBackWithoutAPromptOrWithoutALimit) {
  const RunningView running[] = {decoding(1, 0), decoding(2, 0), decoding(3, 0), decoding(4, 1)};
  const StepPlan plan = plan_of({}, running, 100, 108);
  EXPECT_EQ(plan.items.size(), 4u);
  EXPECT_FALSE(plan.holds_back);
  SchedulerOptions options = kPrecedenceOptions;
  options.rows_beside = 0;
  const StepPlan beside = plan_of({&kPrompt, 1}, running, 100, 108, kTwoCallers, options);
  EXPECT_EQ(beside.items.size(), 5u);
  EXPECT_FALSE(beside.holds_back);
}

TEST(Precedence, FewRowsAreNotHeldBack) {
  const RunningView running[] = {decoding(1, 0), decoding(2, 0)};
  const StepPlan plan = plan_of({&kPrompt, 1}, running, 100, 108);
  EXPECT_EQ(plan.items.size(), 3u);
  EXPECT_FALSE(plan.holds_back);
}

TEST(Precedence, ACallerThatHasHadAStepMoreDoesNotGoBefore) {
  const RunningView running[] = {decoding(1, 0), decoding(2, 0), decoding(3, 0)};
  CallerView callers[] = {{.served_rows = 100}, {.served_rows = 131}};
  EXPECT_EQ(plan_of({&kPrompt, 1}, running, 100, 108, callers).items.size(), 3u);
  callers[1].served_rows = 132;
  EXPECT_EQ(plan_of({&kPrompt, 1}, running, 100, 108, callers).items.size(), 4u);
}

TEST(Precedence, OfTwoPromptsTheCallerThatWantsLessGoesFirst) {
  const RunningView running[] = {
      {.id = 1, .num_tokens = 80, .num_computed = 0, .num_blocks = 20, .caller = 0}};
  EXPECT_THAT(plan_of({&kPrompt, 1}, running, 100, 120).items,
              ElementsAre(StepItem{1, 0, 2, false, 0}, StepItem{9, 0, 6, true, 0}));
  const RunningView equal[] = {
      {.id = 1, .num_tokens = 40, .num_computed = 0, .num_blocks = 10, .caller = 0},
      {.id = 2, .num_tokens = 40, .num_computed = 0, .num_blocks = 10, .caller = 1}};
  EXPECT_THAT(plan_of({}, equal, 100, 120).items,
              ElementsAre(StepItem{1, 0, 16, false, 0}, StepItem{2, 0, 16, false, 0}));
}

TEST(Precedence, AWishGoesBeforeByItsPromptItsRowsAndWhatItHasHad) {
  const CallerWish prompt{6, true, 10}, streams{8, false, 0};
  EXPECT_TRUE(goes_before(prompt, streams, kPrecedenceOptions));
  EXPECT_FALSE(goes_before(streams, prompt, kPrecedenceOptions)) << "no prompt";
  EXPECT_FALSE(goes_before(prompt, {2, false, 0}, kPrecedenceOptions)) << "few rows";
  EXPECT_TRUE(goes_before(prompt, {3, false, 0}, kPrecedenceOptions));
  EXPECT_FALSE(goes_before(prompt, prompt, kPrecedenceOptions)) << "nobody before himself";
  EXPECT_FALSE(goes_before(prompt, {8, false, -22}, kPrecedenceOptions)) << "served a step more";
  EXPECT_TRUE(goes_before(prompt, {8, false, -21}, kPrecedenceOptions));
}

// 20 pages, 10 for each caller. Caller 1 wants 13.
constexpr WaitingView kLarge{.id = 5, .num_tokens = 49, .caller = 1, .overdue = true};

TEST(Overdue, ARequestTakesPagesFromThoseThatHadTheirTurnNewestFirst) {
  RunningView running[] = {decoding(1, 0, 17), decoding(2, 0, 17), decoding(3, 0, 17)};
  for (RunningView& view : running) view.had_turn = true;
  WaitingView late = kLarge;
  late.overdue = false;
  EXPECT_THAT(plan_of({&late, 1}, running, 5, 20).admitted, IsEmpty());
  const StepPlan plan = plan_of({&kLarge, 1}, running, 5, 20);
  EXPECT_THAT(plan.preempted, ElementsAre(3, 2));
  EXPECT_THAT(plan.admitted, ElementsAre(5));
  running[1].had_turn = false;
  EXPECT_THAT(plan_of({&kLarge, 1}, running, 5, 20).preempted, ElementsAre(3, 1));
}

TEST(Overdue, NobodyElseJoinsWhileARequestWaitsForPages) {
  const RunningView running[] = {decoding(1, 0, 17), decoding(2, 0, 17)};
  const WaitingView waiting[] = {{.id = 6, .num_tokens = 3, .caller = 0}, kLarge};
  const StepPlan plan = plan_of(waiting, running, 14, 24);
  EXPECT_THAT(plan.admitted, IsEmpty());
  EXPECT_THAT(plan.preempted, IsEmpty()) << "they did not have their turn";
  EXPECT_EQ(plan.items.size(), 2u) << "and go on";
  const WaitingView before[] = {{.id = 6, .num_tokens = 3, .caller = 0},
                                {.id = 5, .num_tokens = 49, .caller = 1}};
  EXPECT_THAT(plan_of(before, running, 14, 24).admitted, ElementsAre(6));
}

TEST(Overdue, TheOldestOfSeveralComesFirst) {
  const CallerView three[3] = {};
  const WaitingView waiting[] = {
      {.id = 7, .num_tokens = 49, .caller = 0, .overdue = true},
      {.id = 5, .num_tokens = 49, .caller = 1, .overdue = true},
      {.id = 6, .num_tokens = 49, .caller = 2, .overdue = true},
  };
  EXPECT_THAT(plan_of(waiting, {}, 20, 20, three).admitted, ElementsAre(5));
}

TEST(Overdue, ASequenceKeepsItsPagesAndItsSlotUntilItsTurnIsOver) {
  RunningView running[] = {decoding(1, 1, 57)};
  const WaitingView waiting[] = {{.id = 2, .num_tokens = 25, .caller = 0}};
  EXPECT_THAT(plan_of(waiting, running, 5, 20).preempted, ElementsAre(1));
  running[0].overdue = true;
  EXPECT_THAT(plan_of(waiting, running, 5, 20).preempted, IsEmpty());
  SchedulerOptions options = kPrecedenceOptions;
  options.max_running = 1;
  running[0].overdue = false;
  running[0].had_turn = true;
  EXPECT_THAT(plan_of(waiting, running, 20, 40, kTwoCallers, options).preempted, ElementsAre(1));
  running[0] = decoding(1, 1, 57);
  running[0].overdue = true;
  EXPECT_THAT(plan_of(waiting, running, 20, 40, kTwoCallers, options).preempted, IsEmpty());
}

// Sequence 2 needs a page. Caller 1 has most of them, and its only sequence keeps them.
TEST(Overdue, WhenPagesRunOutTheOthersGiveThem) {
  RunningView running[] = {
      decoding(1, 1, 52),
      {.id = 2, .num_tokens = 9, .num_computed = 8, .num_blocks = 2, .num_sole = 2, .caller = 0},
      decoding(3, 0, 8)};
  EXPECT_THAT(plan_of({}, running, 0, 17).preempted, ElementsAre(1));
  running[0].overdue = true;
  EXPECT_THAT(plan_of({}, running, 0, 17).preempted, ElementsAre(3));
  running[2].overdue = running[1].overdue = true;
  EXPECT_THAT(plan_of({}, running, 0, 17).preempted, ElementsAre(3)) << "the newest of them";
}

}  // namespace
}  // namespace tandem::engine
