// SPDX-License-Identifier: Apache-2.0
//
// Priorities among the requests of a caller: which are admitted, preempted, and computed first.
#include <gmock/gmock.h>

#include "engine/scheduler/shares.h"
#include "host/engine/scheduler/running_views.h"

namespace tandem::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SchedulerOptions kPriorityOptions{
    .max_running = 3, .max_step_tokens = 8, .page_tokens = 4};

RunningView decoding_at(SequenceId id, int priority, int num_tokens = 5) {
  RunningView view = decoding(id, 0, num_tokens);
  view.priority = priority;
  return view;
}

StepPlan plan_of_one(std::span<const WaitingView> waiting, std::span<const RunningView> running,
                     int available, const SchedulerOptions& options = kPriorityOptions) {
  constexpr CallerView kOne[1] = {};
  return plan_step({waiting, running, kOne, available, 100}, options, planner::cost_of_rows());
}

TEST(Priority, TheNewestOfTheWorstGivesItsSlotToABetterRequest) {
  const RunningView running[] = {decoding_at(1, 5), decoding_at(2, 5), decoding_at(3, 0)};
  const WaitingView better[] = {{.id = 4, .num_tokens = 2, .priority = 1}};
  const StepPlan plan = plan_of_one(better, running, 50);
  EXPECT_THAT(plan.preempted, ElementsAre(2));
  EXPECT_THAT(plan.admitted, ElementsAre(4));
  const WaitingView equal[] = {{.id = 4, .num_tokens = 2, .priority = 5}};
  EXPECT_THAT(plan_of_one(equal, running, 50).preempted, IsEmpty());
}

TEST(Priority, PagesComeFromWorseRequestsUntilTheyAreEnough) {
  const RunningView running[] = {decoding_at(1, 5, 9), decoding_at(2, 6, 9)};
  const WaitingView waiting[] = {{.id = 4, .num_tokens = 16, .priority = 0}};
  const StepPlan plan = plan_of_one(waiting, running, 0);
  EXPECT_THAT(plan.preempted, ElementsAre(2, 1));
  EXPECT_THAT(plan.admitted, ElementsAre(4));
}

TEST(Priority, NoMoreGiveWayThanTheRequestNeeds) {
  const RunningView running[] = {decoding_at(1, 5, 9), decoding_at(2, 6, 9)};  // 3 pages each
  const WaitingView waiting[] = {{.id = 4, .num_tokens = 8, .priority = 0}};
  const StepPlan plan = plan_of_one(waiting, running, 0);
  EXPECT_THAT(plan.preempted, ElementsAre(2)) << "2 pages, and one for the member that stays";
  EXPECT_THAT(plan.admitted, ElementsAre(4));
}

TEST(Priority, NobodyGivesWayWhereThatIsNotEnough) {
  const RunningView running[] = {decoding_at(1, 0, 9), decoding_at(2, 6, 9)};
  const WaitingView waiting[] = {{.id = 4, .num_tokens = 24, .priority = 0}};
  const StepPlan plan = plan_of_one(waiting, running, 0);
  EXPECT_THAT(plan.preempted, IsEmpty());
  EXPECT_THAT(plan.admitted, IsEmpty());
}

TEST(Priority, ForLackOfAPageTheWorstGivesWayBeforeTheNewest) {
  const RunningView running[] = {decoding_at(1, 0), decoding_at(2, 3), decoding_at(3, 0, 9)};
  RunningView full = running[0];
  full.num_tokens = 9, full.num_computed = 8;
  const RunningView all[] = {full, running[1], running[2]};
  EXPECT_THAT(plan_of_one({}, all, 0).preempted, ElementsAre(2));
}

TEST(Priority, PromptsOfABetterPriorityRunFirst) {
  const auto prompt = [](SequenceId id, int priority) {
    return RunningView{.id = id,
                       .num_tokens = 40,
                       .num_computed = 0,
                       .num_blocks = 10,
                       .num_sole = 10,
                       .priority = priority};
  };
  const RunningView running[] = {prompt(1, 7), prompt(2, -7)};
  const StepPlan plan = plan_of_one({}, running, 50);
  ASSERT_EQ(plan.items.size(), 2u);
  EXPECT_EQ(plan.items[0].num_rows, 1) << "the oldest advances";
  EXPECT_EQ(plan.items[1].num_rows, 7);
}

TEST(Priority, BesideTheOldestPromptABetterOneComesBeforeAShorterOne) {
  const auto prompt = [](SequenceId id, int num_tokens, int priority) {
    return RunningView{
        .id = id, .num_tokens = num_tokens, .num_blocks = 25, .num_sole = 25, .priority = priority};
  };
  const RunningView running[] = {prompt(1, 90, 0), prompt(2, 60, 0), prompt(3, 10, 5)};
  SchedulerOptions options = kPriorityOptions;
  options.max_step_tokens = 32, options.max_prefill_rows = 8;
  const StepPlan plan = plan_of_one({}, running, 50, options);
  ASSERT_EQ(plan.items.size(), 2u);
  EXPECT_EQ(plan.items[0].num_rows, 8);
  EXPECT_EQ(plan.items[1].id, 2u);
  EXPECT_EQ(plan.items[1].num_rows, 24);
}

}  // namespace
}  // namespace tandem::engine
