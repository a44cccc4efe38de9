// SPDX-License-Identifier: Apache-2.0
//
// The scheduler's policy by example, and its guarantees under random traces of a simulated queue.
#include "engine/scheduler/scheduler.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <sstream>

namespace tandem::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Where a row costs one.
StepPlan plan_step(std::span<const WaitingView> waiting, std::span<const RunningView> running,
                   int available_pages, const SchedulerOptions& options) {
  return engine::plan_step({waiting, running, {}, available_pages, 1000}, options,
                           planner::cost_of_rows());
}

constexpr SchedulerOptions kStepOptions{.max_running = 4, .max_step_tokens = 8, .page_tokens = 4};

TEST(Scheduler, PlansNothingForAnEmptyQueue) {
  EXPECT_EQ(plan_step({}, {}, 10, kStepOptions), StepPlan{});
}

TEST(Scheduler, PutsDecodeRowsBeforePrefillChunks) {
  const RunningView running[] = {{.id = 1, .num_tokens = 20, .num_computed = 4, .num_blocks = 5},
                                 {.id = 2, .num_tokens = 7, .num_computed = 6, .num_blocks = 2}};
  const StepPlan plan = plan_step({}, running, 10, kStepOptions);
  EXPECT_THAT(plan.items, ElementsAre(StepItem{2, 6, 1, true, 0}, StepItem{1, 4, 7, false, 0}));
  EXPECT_EQ(plan.num_sub_batches, 1);
}

TEST(Scheduler, CutsAPromptIntoChunksAndSamplesAfterTheLast) {
  const RunningView first[] = {{.id = 1, .num_tokens = 10, .num_computed = 0, .num_blocks = 3}};
  EXPECT_THAT(plan_step({}, first, 0, kStepOptions).items,
              ElementsAre(StepItem{1, 0, 8, false, 0}));
  const RunningView second[] = {{.id = 1, .num_tokens = 10, .num_computed = 8, .num_blocks = 3}};
  EXPECT_THAT(plan_step({}, second, 0, kStepOptions).items,
              ElementsAre(StepItem{1, 8, 2, true, 0}));
}

TEST(Scheduler, AdmitsInOrderWhileRowsAndPagesLast) {
  const WaitingView waiting[] = {{.id = 1, .num_tokens = 3},
                                 {.id = 2, .num_tokens = 4},
                                 {.id = 3, .num_tokens = 4},
                                 {.id = 4, .num_tokens = 4}};
  const StepPlan plan = plan_step(waiting, {}, 10, kStepOptions);
  EXPECT_THAT(plan.admitted, ElementsAre(1, 2, 3)) << "no row is left for the fourth";
  EXPECT_THAT(plan.items, ElementsAre(StepItem{1, 0, 3, true, 0}, StepItem{2, 0, 4, true, 0},
                                      StepItem{3, 0, 1, false, 0}));
}

TEST(Scheduler, DoesNotCutAPromptThatEndsInTheStep) {
  const WaitingView waiting[] = {{.id = 1, .num_tokens = 6}, {.id = 2, .num_tokens = 6}};
  EXPECT_THAT(plan_step(waiting, {}, 1000, kStepOptions).items,
              ElementsAre(StepItem{1, 0, 6, true, 0}, StepItem{2, 0, 2, false, 0}));
}

TEST(Scheduler, GivesTheOldestPromptHalfAStepAndTheShortestTheOtherHalf) {
  const RunningView running[] = {
      {.id = 1, .num_tokens = 900, .num_computed = 8, .num_blocks = 225},
      {.id = 2, .num_tokens = 800, .num_computed = 4, .num_blocks = 200}};
  const WaitingView waiting[] = {{.id = 3, .num_tokens = 700}, {.id = 4, .num_tokens = 3}};
  const StepPlan plan = plan_step(waiting, running, 1000, kStepOptions);
  EXPECT_THAT(plan.admitted, ElementsAre(3, 4));
  EXPECT_THAT(plan.items, ElementsAre(StepItem{1, 8, 4, false, 0}, StepItem{3, 0, 1, false, 0},
                                      StepItem{4, 0, 3, true, 0}));
  SchedulerOptions options = kStepOptions;
  options.max_prefill_rows = 6;
  EXPECT_THAT(plan_step(waiting, running, 1000, options).items,
              ElementsAre(StepItem{1, 8, 6, false, 0}, StepItem{4, 0, 2, false, 0}));
  EXPECT_THAT(plan_step({}, std::span(running).first(1), 0, kStepOptions).items,
              ElementsAre(StepItem{1, 8, 8, false, 0}))
      << "alone it gets the whole step";
}

TEST(Scheduler, DoesNotLetASmallRequestOvertakeTheHeadOfTheQueue) {
  const WaitingView waiting[] = {{.id = 1, .num_tokens = 40}, {.id = 2, .num_tokens = 1}};
  const RunningView running[] = {{.id = 9, .num_tokens = 4, .num_computed = 3, .num_blocks = 1}};
  EXPECT_THAT(plan_step(waiting, running, 9, kStepOptions).admitted, IsEmpty());
}

TEST(Scheduler, KeepsAPagePerRunningSequenceInReserveWhenItAdmits) {
  const WaitingView waiting[] = {{.id = 2, .num_tokens = 8}};
  const RunningView running[] = {{.id = 1, .num_tokens = 4, .num_computed = 3, .num_blocks = 1}};
  EXPECT_THAT(plan_step(waiting, running, 2, kStepOptions).admitted, IsEmpty());
  EXPECT_THAT(plan_step(waiting, running, 3, kStepOptions).admitted, ElementsAre(2));
  EXPECT_THAT(plan_step(waiting, {}, 2, kStepOptions).admitted, ElementsAre(2));
}

TEST(Scheduler, CountsPagesOfASharedPrefixOnlyOnce) {
  const WaitingView waiting[] = {
      {.id = 2, .num_tokens = 16, .num_cached_tokens = 12, .num_cached_in_use = 3}};
  const RunningView running[] = {{.id = 1, .num_tokens = 14, .num_computed = 13, .num_blocks = 4}};
  const StepPlan plan = plan_step(waiting, running, 2, kStepOptions);
  EXPECT_THAT(plan.admitted, ElementsAre(2));
  EXPECT_THAT(plan.items, ElementsAre(StepItem{1, 13, 1, true, 0}, StepItem{2, 12, 4, true, 0}));
}

TEST(Scheduler, PreemptsNewestSequenceWhenPagesRunOut) {
  const WaitingView waiting[] = {{.id = 4, .num_tokens = 1}};
  const RunningView running[] = {
      {.id = 1, .num_tokens = 9, .num_computed = 8, .num_blocks = 2, .num_sole = 2},
      {.id = 2, .num_tokens = 9, .num_computed = 8, .num_blocks = 2, .num_sole = 2},
      {.id = 3, .num_tokens = 5, .num_computed = 4, .num_blocks = 2, .num_sole = 2}};
  const StepPlan plan = plan_step(waiting, running, 0, kStepOptions);
  EXPECT_THAT(plan.preempted, ElementsAre(3));
  EXPECT_THAT(plan.admitted, IsEmpty());
  EXPECT_THAT(plan.items, ElementsAre(StepItem{1, 8, 1, true, 0}, StepItem{2, 8, 1, true, 0}));
}

TEST(Scheduler, PreemptsOnWhenTheNewestSharesItsPages) {
  const RunningView running[] = {
      {.id = 1, .num_tokens = 9, .num_computed = 8, .num_blocks = 2, .num_sole = 2},
      {.id = 2, .num_tokens = 8, .num_computed = 7, .num_blocks = 2, .num_sole = 2},
      {.id = 3, .num_tokens = 5, .num_computed = 4, .num_blocks = 2, .num_sole = 0}};
  const StepPlan plan = plan_step({}, running, 0, kStepOptions);
  EXPECT_THAT(plan.preempted, ElementsAre(3, 2)) << "the pages of 3 stay with others";
  EXPECT_THAT(plan.items, ElementsAre(StepItem{1, 8, 1, true, 0}));
}

TEST(Scheduler, PreemptsASequenceForItsOwnPageWhenItIsTheNewest) {
  const RunningView running[] = {
      {.id = 1, .num_tokens = 8, .num_computed = 7, .num_blocks = 2, .num_sole = 2},
      {.id = 2, .num_tokens = 9, .num_computed = 8, .num_blocks = 2, .num_sole = 2}};
  const StepPlan plan = plan_step({}, running, 0, kStepOptions);
  EXPECT_THAT(plan.preempted, ElementsAre(2));
  EXPECT_THAT(plan.items, ElementsAre(StepItem{1, 7, 1, true, 0}));
}

TEST(Scheduler, SplitsRowsEvenlyOverTwoSubBatches) {
  SchedulerOptions options = kStepOptions;
  options.num_sub_batches = 2;
  options.max_step_tokens = 64;
  std::vector<RunningView> running;
  for (SequenceId id = 1; id <= 4; ++id) {
    running.push_back({.id = id, .num_tokens = 4, .num_computed = 3, .num_blocks = 1});
  }
  StepPlan plan = plan_step({}, running, 0, options);
  EXPECT_EQ(plan.num_sub_batches, 2);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(plan.items[i].sub_batch, i < 2 ? 0 : 1);

  running.push_back({.id = 5, .num_tokens = 10, .num_computed = 0, .num_blocks = 3});
  plan = plan_step({}, running, 0, options);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(plan.items[i].sub_batch, i < 4 ? 0 : 1);

  plan = plan_step({}, std::span(running).first(3), 0, options);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(plan.items[i].sub_batch, i < 1 ? 0 : 1);

  plan = plan_step({}, std::span(running).first(1), 0, options);
  EXPECT_EQ(plan.num_sub_batches, 1);
}

TEST(Scheduler, CutsSubBatchesWhereTheCostTableSaysThatTheyTakeTheSameTime) {
  SchedulerOptions options = kStepOptions;
  options.num_sub_batches = 2;
  const RunningView running[] = {{.id = 1, .num_tokens = 61, .num_computed = 60, .num_blocks = 16},
                                 {.id = 2, .num_tokens = 21, .num_computed = 20, .num_blocks = 6},
                                 {.id = 3, .num_tokens = 21, .num_computed = 20, .num_blocks = 6},
                                 {.id = 4, .num_tokens = 20, .num_computed = 19, .num_blocks = 5}};
  const auto first_sub_batch = [&](const planner::ConstantStepCost::Rates& rates) {
    const StepPlan plan =
        engine::plan_step({.running = running}, options, planner::ConstantStepCost(rates));
    return std::ranges::count(plan.items, 0, &StepItem::sub_batch);
  };
  EXPECT_EQ(first_sub_batch({.per_row = 1}), 2);
  EXPECT_EQ(first_sub_batch({.per_row = 0, .per_attended_token = 1}), 1);
  EXPECT_EQ(first_sub_batch({.per_step = 100, .per_row = 1}), 2) << "both sides pay for a launch";
}

// The rows of an admitted sequence are those that are not cached: 4 of 12, so that the next one in
// the queue finds room in a step of 8 rows.
TEST(Scheduler, AdmitsTheNextSequenceWhenThePrefixOfTheFirstIsCached) {
  const WaitingView waiting[] = {{.id = 1, .num_tokens = 12, .num_cached_tokens = 8},
                                 {.id = 2, .num_tokens = 4}};
  const StepPlan plan = plan_step(waiting, {}, 10, kStepOptions);
  EXPECT_THAT(plan.admitted, ElementsAre(1, 2));
  EXPECT_THAT(plan.items, ElementsAre(StepItem{1, 8, 4, true, 0}, StepItem{2, 0, 4, true, 0}));
}

TEST(Scheduler, PrintsItsPlan) {
  const StepPlan plan{{7}, {8}, {{3, 12, 1, true, 0}, {4, 0, 256, false, 1}}, 2};
  std::ostringstream out;
  out << plan;
  EXPECT_EQ(out.str(), "step: 2 sub-batches; preempt 7; admit 8; run 0: 3@12+1!; 1: 4@0+256");
}

// A queue that obeys the plans, with pages counted one by one and no prefix sharing.
class Simulation {
 public:
  Simulation(std::uint32_t seed, int num_pages, const SchedulerOptions& options)
      : random_(seed), num_pages_(num_pages), options_(options) {}

  void arrive(SequenceId id) {
    const int most = num_pages_ * options_.page_tokens;
    const int prompt = 1 + static_cast<int>(random_() % static_cast<unsigned>(most));
    const int room = most - prompt;
    const int output = room == 0 ? 0 : static_cast<int>(random_() % static_cast<unsigned>(room));
    waiting_.push_back({id, prompt, 0, 0, prompt + output});
  }
  bool done() const { return waiting_.empty() && running_.empty(); }
  SequenceId oldest() const { return running_.empty() ? 0 : running_.front().id; }

  void step() {
    const StepPlan plan = plan_now();
    ASSERT_EQ(plan, plan_now()) << "the same state gives the same plan";
    ASSERT_FALSE(plan.items.empty()) << "something always advances";
    if (!running_.empty()) {
      ASSERT_EQ(std::ranges::count(plan.items, oldest(), &StepItem::id), 1) << plan;
    }
    if (!running_.empty()) {
      ASSERT_FALSE(preempts(plan, running_.front().id)) << plan;
    }
    for (const SequenceId id : plan.preempted) {
      ASSERT_EQ(running_.back().id, id) << "newest first: " << plan;
      free_ += running_.back().blocks;
      running_.back().blocks = running_.back().computed = 0;
      waiting_.push_front(running_.back());
      running_.pop_back();
    }
    ASSERT_TRUE(plan.preempted.empty() || plan.admitted.empty()) << plan;
    for (const SequenceId id : plan.admitted) {
      const auto it = std::ranges::find(waiting_, id, &Simulated::id);
      ASSERT_NE(it, waiting_.end()) << plan;
      running_.push_back(*it);
      waiting_.erase(it);
    }
    ASSERT_LE(running_.size(), static_cast<std::size_t>(options_.max_running));
    run_items(plan);
  }

 private:
  struct Simulated {
    SequenceId id;
    int tokens, computed, blocks, end;
  };
  static bool preempts(const StepPlan& plan, SequenceId id) {
    return std::ranges::count(plan.preempted, id) > 0;
  }
  StepPlan plan_now() const {
    std::vector<WaitingView> waiting;
    for (const Simulated& s : waiting_) waiting.push_back({s.id, s.tokens, 0, 0});
    std::vector<RunningView> running;
    for (const Simulated& s : running_) {
      running.push_back({s.id, s.tokens, s.computed, s.blocks, s.blocks});
    }
    return plan_step(waiting, running, free_, options_);
  }
  void run_items(const StepPlan& plan) {
    int rows = 0;
    bool decoded = true;
    std::map<SequenceId, int> seen;
    for (const StepItem& item : plan.items) {
      ASSERT_EQ(++seen[item.id], 1) << plan;
      const auto it = std::ranges::find(running_, item.id, &Simulated::id);
      ASSERT_NE(it, running_.end()) << plan;
      ASSERT_EQ(item.begin, it->computed);
      ASSERT_GE(item.num_rows, 1);
      const bool decode = it->tokens - it->computed == 1;
      ASSERT_TRUE(decoded || !decode) << "decode rows come first: " << plan;
      decoded = decode;
      const int wanted = (it->tokens + options_.page_tokens - 1) / options_.page_tokens;
      free_ -= std::max(0, wanted - it->blocks);
      it->blocks = std::max(it->blocks, wanted);
      it->computed += item.num_rows;
      ASSERT_LE(it->computed, it->tokens);
      ASSERT_EQ(item.samples, it->computed == it->tokens) << plan;
      if (item.samples) ++it->tokens;
      rows += item.num_rows;
    }
    ASSERT_GE(free_, 0) << plan;
    ASSERT_LE(rows, options_.max_step_tokens) << plan;
    std::erase_if(running_, [&](const Simulated& s) {
      if (s.tokens <= s.end) return false;
      free_ += s.blocks;
      return true;
    });
  }

  std::mt19937 random_;
  int num_pages_;
  SchedulerOptions options_;
  int free_ = num_pages_;
  std::deque<Simulated> waiting_;
  std::vector<Simulated> running_;
};

TEST(Scheduler, FinishesEveryRequestThatFitsAloneAndStarvesNone) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const SchedulerOptions options{.max_running = 1 + static_cast<int>(random() % 6),
                                   .max_step_tokens = 1 + static_cast<int>(random() % 12),
                                   .num_sub_batches = 1 + static_cast<int>(random() % 2),
                                   .page_tokens = 4};
    Simulation simulation(seed, 1 + static_cast<int>(random() % 12), options);
    SequenceId next = 1;
    for (int step = 0; next <= 30 || !simulation.done(); ++step) {
      ASSERT_LT(step, 20000) << "a sequence never finishes";
      if (next <= 30 && (random() % 3 == 0 || simulation.done())) simulation.arrive(next++);
      ASSERT_NO_FATAL_FAILURE(simulation.step());
    }
  }
}

}  // namespace
}  // namespace tandem::engine
