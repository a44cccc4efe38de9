// SPDX-License-Identifier: Apache-2.0
//
// Fair shares between callers, by example, and the guarantee under random loads of a greedy caller.
#include "engine/scheduler/shares.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <random>

#include "host/engine/scheduler/running_views.h"

namespace tandem::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SchedulerOptions kShareOptions{.max_running = 4, .max_step_tokens = 8, .page_tokens = 4};

StepPlan plan_of_shares(std::span<const WaitingView> waiting, std::span<const RunningView> running,
                        int available, int total, const SchedulerOptions& options = kShareOptions,
                        std::span<const CallerView> callers = kTwoCallers) {
  return plan_step({waiting, running, callers, available, total}, options, planner::cost_of_rows());
}

// Decodes behind `num_tokens` tokens.
TEST(Shares, ACallerWithinItsShareTakesASlotFromTheNewestOfTheOther) {
  const RunningView running[] = {decoding(1, 0), decoding(2, 0), decoding(3, 0), decoding(4, 0)};
  const WaitingView waiting[] = {{.id = 5, .num_tokens = 2, .caller = 0},
                                 {.id = 6, .num_tokens = 2, .caller = 1},
                                 {.id = 7, .num_tokens = 2, .caller = 1},
                                 {.id = 8, .num_tokens = 2, .caller = 1}};
  const StepPlan plan = plan_of_shares(waiting, running, 100, 108);
  EXPECT_THAT(plan.preempted, ElementsAre(4, 3));
  EXPECT_THAT(plan.admitted, ElementsAre(6, 7)) << "half of the slots, not more";
  EXPECT_EQ(std::ranges::count(plan.items, 6u, &StepItem::id), 1) << "it starts in this step";
}

// A target for the time between tokens shortens steps. Slots and debts stay what they are.
TEST(Shares, AShortStepTakesNobodysSlot) {
  const RunningView running[] = {decoding(1, 0), decoding(2, 0)};
  const WaitingView waiting[] = {{.id = 3, .num_tokens = 9, .caller = 1}};
  SchedulerOptions options = kShareOptions;
  options.step_rows = 3;
  const StepPlan plan = plan_of_shares(waiting, running, 100, 102, options);
  EXPECT_THAT(plan.preempted, IsEmpty());
  EXPECT_THAT(plan.admitted, ElementsAre(3));
  int rows = 0;
  for (const StepItem& item : plan.items) rows += item.num_rows;
  EXPECT_EQ(rows, 3);
}

TEST(Shares, ACallerAloneTakesAllSlots) {
  const WaitingView waiting[] = {{.id = 1, .num_tokens = 2, .caller = 0},
                                 {.id = 2, .num_tokens = 2, .caller = 0},
                                 {.id = 3, .num_tokens = 2, .caller = 0}};
  EXPECT_THAT(plan_of_shares(waiting, {}, 100, 100, kShareOptions, std::span(kTwoCallers).first(1))
                  .admitted,
              ElementsAre(1, 2, 3));
}

TEST(Shares, TheCallerWithFewerSlotsIsAdmittedFirstAndThenTheOneServedLeast) {
  const RunningView running[] = {decoding(1, 0)};
  const WaitingView waiting[] = {{.id = 2, .num_tokens = 1, .caller = 0},
                                 {.id = 3, .num_tokens = 1, .caller = 1},
                                 {.id = 4, .num_tokens = 1, .caller = 1}};
  const CallerView callers[] = {{.served_rows = 90}, {.served_rows = 100}};
  EXPECT_THAT(plan_of_shares(waiting, running, 100, 100, kShareOptions, callers).admitted,
              ElementsAre(3, 2, 4));
}

TEST(Shares, ACallerWithinItsShareTakesPagesFromTheNewestOfTheOther) {
  const RunningView running[] = {decoding(1, 0, 13), decoding(2, 0, 13)};  // 8 of 8 pages
  const WaitingView fits[] = {{.id = 3, .num_tokens = 9, .caller = 1}};
  const StepPlan plan = plan_of_shares(fits, running, 0, 8);
  EXPECT_THAT(plan.preempted, ElementsAre(2));
  EXPECT_THAT(plan.admitted, ElementsAre(3));
  const WaitingView beyond[] = {{.id = 3, .num_tokens = 17, .caller = 1}};
  EXPECT_EQ(plan_of_shares(beyond, running, 0, 8).preempted.size(), 0u)
      << "5 pages, its share are 4";
  const WaitingView greedy[] = {{.id = 3, .num_tokens = 9, .caller = 0}};
  EXPECT_THAT(plan_of_shares(greedy, running, 0, 8, kShareOptions, std::span(kTwoCallers).first(1))
                  .preempted,
              IsEmpty());
}

TEST(Shares, ARequestThatWaitsForPagesDoesNotHoldUpAnotherCallerWithinItsShare) {
  const RunningView running[] = {decoding(1, 0, 13)};
  const WaitingView waiting[] = {{.id = 2, .num_tokens = 33, .caller = 0},
                                 {.id = 3, .num_tokens = 1, .caller = 0},
                                 {.id = 4, .num_tokens = 5, .caller = 1}};
  EXPECT_THAT(plan_of_shares(waiting, running, 6, 10).admitted, ElementsAre(4));
}

TEST(Shares, WhileARequestWaitsForPagesAnotherCallerMayReachItsShareExactly) {
  const RunningView running[] = {decoding(1, 1)};  // 2 pages
  const WaitingView waiting[] = {{.id = 2, .num_tokens = 33, .caller = 0},
                                 {.id = 3, .num_tokens = 5, .caller = 1}};
  EXPECT_THAT(plan_of_shares(waiting, running, 6, 8).admitted, ElementsAre(3));
  EXPECT_THAT(plan_of_shares(waiting, running, 6, 7).admitted, IsEmpty());
}

// Caller 1 has one small sequence, the newest; caller 0 needs a page and has most of them.
TEST(Shares, WhenPagesRunOutTheCallerWithMostGivesThem) {
  const RunningView running[] = {
      {.id = 1, .num_tokens = 17, .num_computed = 16, .num_blocks = 4, .num_sole = 4, .caller = 0},
      decoding(2, 0, 8),
      decoding(3, 1, 7)};
  const StepPlan plan = plan_of_shares({}, running, 0, 8);
  EXPECT_THAT(plan.preempted, ElementsAre(2));
  EXPECT_EQ(plan.items.size(), 2u);
}

// Caller 0 has three pages and takes the two free ones; caller 1 has four and lacks four.
TEST(Shares, PagesThatASequenceTakesInThisStepCountForItsCaller) {
  const RunningView running[] = {
      {.id = 1, .num_tokens = 17, .num_computed = 12, .num_blocks = 3, .num_sole = 3, .caller = 0},
      {.id = 2, .num_tokens = 29, .num_computed = 16, .num_blocks = 4, .num_sole = 4, .caller = 1}};
  const StepPlan plan = plan_of_shares({}, running, 2, 9);
  EXPECT_THAT(plan.preempted, ElementsAre(1)) << "it has five, and all of them are free now";
}

TEST(Shares, WithMoreCallersThanSlotsASequenceGivesItsPlaceAfterItsTurn) {
  SchedulerOptions options = kShareOptions;
  options.max_running = 1;
  RunningView running[] = {decoding(1, 0)};
  const WaitingView waiting[] = {{.id = 2, .num_tokens = 3, .caller = 1}};
  EXPECT_THAT(plan_of_shares(waiting, running, 10, 12, options).preempted, IsEmpty());
  running[0].had_turn = true;
  const StepPlan plan = plan_of_shares(waiting, running, 10, 12, options);
  EXPECT_THAT(plan.preempted, ElementsAre(1));
  EXPECT_THAT(plan.admitted, ElementsAre(2));
}

TEST(Shares, NobodyIsPreemptedForARequestThatThenLacksPages) {
  const RunningView running[] = {decoding(1, 0), decoding(2, 0), decoding(3, 0), decoding(4, 0)};
  const WaitingView waiting[] = {{.id = 5, .num_tokens = 40, .caller = 1}};
  const StepPlan plan = plan_of_shares(waiting, running, 1, 9);
  EXPECT_THAT(plan.preempted, IsEmpty());
  EXPECT_THAT(plan.admitted, IsEmpty());
  EXPECT_EQ(plan.items.size(), 4u);
}

// Eight rows: three decode for one caller, whatever its prompts want, and the other has half.
// Caller 1 finds no room, though two of caller 0 would give way; caller 2 needs only one of them.
TEST(Shares, WhoeverStaysAfterAllCountsForTheNextRequestAgain) {
  const RunningView running[] = {decoding(1, 0, 32), decoding(2, 0, 16), decoding(3, 0, 16)};
  const WaitingView waiting[] = {{.id = 4, .num_tokens = 40, .caller = 1},
                                 {.id = 5, .num_tokens = 4, .caller = 2}};
  SchedulerOptions options = kShareOptions;
  options.max_running = 3;
  const CallerView three[3] = {};
  const StepPlan plan = plan_of_shares(waiting, running, 0, 30, options, three);
  EXPECT_THAT(plan.preempted, ElementsAre(3));
  EXPECT_THAT(plan.admitted, ElementsAre(5));
}

// The preempted sequence might be the one that holds the pages.
TEST(Shares, NobodyIsPreemptedOnceARequestCountsOnPagesOfARunningOne) {
  const RunningView running[] = {decoding(1, 0), decoding(2, 0)};
  WaitingView waiting[] = {{.id = 3, .num_tokens = 5, .num_cached_tokens = 4, .caller = 1},
                           {.id = 4, .num_tokens = 5, .caller = 2}};
  SchedulerOptions options = kShareOptions;
  options.max_running = 3;
  const CallerView three[3] = {};
  EXPECT_THAT(plan_of_shares(waiting, running, 50, 54, options, three).preempted, ElementsAre(2));
  waiting[0].num_cached_in_use = 1;
  const StepPlan plan = plan_of_shares(waiting, running, 50, 54, options, three);
  EXPECT_THAT(plan.preempted, IsEmpty());
  EXPECT_THAT(plan.admitted, ElementsAre(3));
}

TEST(Shares, ACallerWithExactlyItsShareOfPagesGivesNone) {
  const RunningView running[] = {decoding(1, 0, 13), decoding(2, 0, 13)};  // 8 pages
  const WaitingView waiting[] = {{.id = 3, .num_tokens = 9, .caller = 1}};
  EXPECT_THAT(plan_of_shares(waiting, running, 0, 16).preempted, IsEmpty());
  EXPECT_THAT(plan_of_shares(waiting, running, 0, 15).preempted, ElementsAre(2));
}

// Two of caller 0 give way to two of caller 1, whose rows reach only for the first.
TEST(Shares, ARequestForWhichAnotherWasPreemptedIsAdmittedWithoutARow) {
  const RunningView running[] = {decoding(1, 0), decoding(2, 0), decoding(3, 0), decoding(4, 0)};
  const WaitingView waiting[] = {{.id = 5, .num_tokens = 30, .caller = 1},
                                 {.id = 6, .num_tokens = 30, .caller = 1}};
  SchedulerOptions options = kShareOptions;
  options.max_step_tokens = 4;
  const StepPlan plan = plan_of_shares(waiting, running, 100, 108, options);
  EXPECT_THAT(plan.preempted, ElementsAre(4, 3));
  EXPECT_THAT(plan.admitted, ElementsAre(5, 6));
  EXPECT_EQ(std::ranges::count(plan.items, 6u, &StepItem::id), 0);
}

TEST(Shares, RowsAreHalvedBetweenTwoCallersThatWantMore) {
  const RunningView running[] = {
      decoding(1, 0),
      decoding(2, 0),
      {.id = 3, .num_tokens = 40, .num_computed = 0, .num_blocks = 10, .caller = 0},
      {.id = 4, .num_tokens = 40, .num_computed = 0, .num_blocks = 10, .caller = 1}};
  EXPECT_THAT(plan_of_shares({}, running, 0, 100).items,
              ElementsAre(StepItem{1, 4, 1, true, 0}, StepItem{2, 4, 1, true, 0},
                          StepItem{3, 0, 2, false, 0}, StepItem{4, 0, 4, false, 0}));
}

TEST(Shares, WhatACallerDoesNotWantGoesToTheOthers) {
  const RunningView running[] = {
      decoding(1, 0),
      {.id = 2, .num_tokens = 40, .num_computed = 0, .num_blocks = 10, .caller = 1}};
  EXPECT_THAT(plan_of_shares({}, running, 0, 100).items,
              ElementsAre(StepItem{1, 4, 1, true, 0}, StepItem{2, 0, 7, false, 0}));
}

TEST(Shares, TheOddRowGoesToTheCallerThatWasServedLeast) {
  SchedulerOptions options = kShareOptions;
  options.max_step_tokens = 5;
  const RunningView running[] = {
      {.id = 1, .num_tokens = 40, .num_computed = 0, .num_blocks = 10, .caller = 0},
      {.id = 2, .num_tokens = 40, .num_computed = 0, .num_blocks = 10, .caller = 1}};
  const CallerView callers[] = {{.served_rows = 7}, {.served_rows = 6}};
  EXPECT_THAT(plan_of_shares({}, running, 0, 100, options, callers).items,
              ElementsAre(StepItem{1, 0, 2, false, 0}, StepItem{2, 0, 3, false, 0}));
}

// More rows to decode than the caller's share: those that waited longest come first.
TEST(Shares, DecodeRowsBeyondAShareTakeTurns) {
  SchedulerOptions options = kShareOptions;
  options.max_running = options.max_step_tokens = 4;
  RunningView running[] = {
      decoding(1, 0),
      decoding(2, 0),
      decoding(3, 0),
      {.id = 4, .num_tokens = 40, .num_computed = 0, .num_blocks = 10, .caller = 1}};
  running[1].last_step = 9;
  running[2].last_step = 8;
  EXPECT_THAT(plan_of_shares({}, running, 0, 100, options).items,
              ElementsAre(StepItem{1, 4, 1, true, 0}, StepItem{3, 4, 1, true, 0},
                          StepItem{4, 0, 2, false, 0}));
}

}  // namespace
}  // namespace tandem::engine
