// SPDX-License-Identifier: Apache-2.0
//
// Two callers in virtual time: how soon a first token comes beside a caller that takes all it can
// get, what that costs this caller, and requests that need more pages than their caller's share.
#include <gmock/gmock.h>

#include <deque>

#include "host/engine/loop/virtual_time_rig.h"

namespace tandem::engine {
namespace {

double seconds_in(Clock::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

class Fairness : public VirtualTime {
 protected:
  Fairness() { options_.max_step_tokens = 256; }

  void start_alone() {
    start(two_units({.num_pages = 4000}, {.num_pages = 4000}));
    loop_->newcomers = [this] { return newcomers(); };
  }
  // 128 endless sequences of a caller, 64 of which run.
  void start_beside_a_greedy_one() {
    start_alone();
    for (std::uint32_t i = 0; i < 128; ++i) submit(request(0, 10, kEndless, i, "greedy"));
    for (int i = 0; i < 20; ++i) step();
    ASSERT_EQ(loop_->status().running, 64);
  }

  void arrive(Clock::TimePoint at, Request request) {
    arriving_.emplace_back(at, std::move(request));
  }
  std::vector<Newcomer> newcomers() const {
    std::vector<Newcomer> arrived;
    for (const auto& [at, request] : arriving_) {
      if (at > clock_.now()) continue;
      arrived.push_back({request.caller, static_cast<int>(request.prompt.size())});
    }
    return arrived;
  }
  // One step, after what has arrived is in the queue; an idle loop waits for the next.
  void go_on() {
    if (loop_->idle() && arriving_.front().first > clock_.now()) {
      clock_.advance_to(arriving_.front().first);
    }
    while (!arriving_.empty() && arriving_.front().first <= clock_.now()) {
      submit(arriving_.front().second);
      arriving_.pop_front();
    }
    step();
  }
  // From the arrival of a request, now or in the middle of a step, to its first token.
  double first_token(Clock::Duration from_now, Request request) {
    const Clock::TimePoint at = clock_.now() + from_now;
    arrive(at, std::move(request));
    const RequestId id = last_id_ + 1;
    while (!served_.contains(id) || served_.at(id).tokens.empty()) go_on();
    return seconds_in(clock_.now() - at);
  }
  std::size_t tokens_of(const std::string& caller) const {
    std::size_t count = 0;
    for (const auto& [id, served] : served_) {
      if (served.request.caller == caller) count += served.tokens.size();
    }
    return count;
  }
  void expect_right_tokens() const {
    for (const auto& [id, served] : served_) {
      std::vector<TokenId> known = served.request.prompt;
      for (const TokenId token : served.tokens) {
        ASSERT_EQ(token, next_token(known, kVirtualVocab)) << id << " behind " << known.size();
        known.push_back(token);
      }
    }
  }

  std::deque<std::pair<Clock::TimePoint, Request>> arriving_;
};

TEST_F(Fairness, AFirstTokenBesideAGreedyCallerTakesAtMostTwiceItsTimeAlone) {
  for (const std::size_t length : {16u, 200u}) {
    SCOPED_TRACE(length);
    arriving_.clear();
    start_alone();
    const double alone = first_token({}, request(0, length, 3, 1, "other"));
    ASSERT_NO_FATAL_FAILURE(start_beside_a_greedy_one());
    for (int i = 0; i < 40; ++i) {
      for (int pause = 0; pause < 10; ++pause) go_on();
      const auto moment = std::chrono::milliseconds(30 * i);  // within a step of 1.14 s
      EXPECT_LE(
          first_token(moment, request(0, length, 3, 100u + static_cast<std::uint32_t>(i), "other")),
          2 * alone)
          << i;
    }
    EXPECT_GT(loop_->status().interrupted_steps, 20u);
    expect_right_tokens();
    served_.clear();
  }
}

TEST_F(Fairness, ACompletedStepIsNeverInterruptedAndNobodyIsInterruptedTwiceInARow) {
  std::vector<std::size_t> rows_of_steps;
  runner_.before_run = [&](std::span<const RunnerItem> items) {
    rows_of_steps.push_back(items.size());
  };
  ASSERT_NO_FATAL_FAILURE(start_beside_a_greedy_one());
  rows_of_steps.clear();
  for (std::uint32_t i = 0; i < 40; ++i) {
    first_token(std::chrono::milliseconds(300), request(0, 16, 1, 100 + i, "other"));
  }
  EXPECT_GT(loop_->status().interrupted_steps, 10u);
  for (std::size_t i = 2; i < rows_of_steps.size(); ++i) {
    EXPECT_TRUE(rows_of_steps[i] > 60 || rows_of_steps[i - 1] > 60 || rows_of_steps[i - 2] > 60)
        << "three steps without most rows of the greedy caller, at " << i;
  }
}

// Prompts one after the other, each in the middle of a step.
TEST_F(Fairness, AFloodOfPromptsTakesAtMostHalfOfWhatTheGreedyCallerHadWithoutPrecedence) {
  std::size_t tokens[2] = {};
  for (const bool precedence : {false, true}) {
    served_.clear();
    arriving_.clear();
    runner_.follows_rows = precedence;
    ASSERT_NO_FATAL_FAILURE(start_beside_a_greedy_one());
    const std::size_t before = tokens_of("greedy");
    const Clock::TimePoint end = clock_.now() + std::chrono::seconds(300);
    for (std::uint32_t i = 0; clock_.now() < end; ++i) {
      first_token(std::chrono::milliseconds(250), request(0, 240, 1, 100 + i, "other"));
    }
    tokens[precedence] = tokens_of("greedy") - before;
    expect_right_tokens();
  }
  EXPECT_GT(tokens[1] * 2, tokens[0]);
}

TEST_F(Fairness, AStepIsNotInterruptedForItsOwnCallerNorForFewRows) {
  ASSERT_NO_FATAL_FAILURE(start_beside_a_greedy_one());
  arrive(clock_.now() + std::chrono::milliseconds(100), request(0, 16, 1, 900, "greedy"));
  for (int i = 0; i < 5; ++i) go_on();
  EXPECT_EQ(loop_->status().interrupted_steps, 0u);
  start_alone();
  for (std::uint32_t i = 0; i < 2; ++i) submit(request(0, 10, kEndless, i, "greedy"));
  for (int i = 0; i < 5; ++i) go_on();
  arrive(clock_.now() + std::chrono::milliseconds(100), request(0, 16, 1, 901, "other"));
  for (int i = 0; i < 5; ++i) go_on();
  EXPECT_EQ(loop_->status().interrupted_steps, 0u);
}

TEST_F(Fairness, AStepThatStartsARequestIsNotInterruptedForAnotherOfItsCaller) {
  start_alone();
  submit(request(0, 200, 3, 1, "one"));
  arrive(clock_.now() + std::chrono::milliseconds(100), request(0, 16, 1, 2, "one"));
  go_on();
  EXPECT_EQ(loop_->status().interrupted_steps, 0u);
}

TEST_F(Fairness, AnInterruptedStepIsNotCountedAmongTheSteps) {
  ASSERT_NO_FATAL_FAILURE(start_beside_a_greedy_one());
  const std::uint64_t before = loop_->status().steps;
  arrive(clock_.now() + std::chrono::milliseconds(100), request(0, 16, 1, 900, "other"));
  go_on();
  EXPECT_EQ(loop_->status().interrupted_steps, 1u);
  EXPECT_EQ(loop_->status().steps, before);
  go_on();
  EXPECT_EQ(loop_->status().steps, before + 1);
}

TEST_F(Fairness, AStepIsNotInterruptedForACallerThatIsServedAlready) {
  ASSERT_NO_FATAL_FAILURE(start_beside_a_greedy_one());
  first_token({}, request(0, 16, kEndless, 900, "other"));
  for (int i = 0; i < 5; ++i) go_on();
  const std::uint64_t before = loop_->status().interrupted_steps;
  arrive(clock_.now() + std::chrono::milliseconds(100), request(0, 16, 1, 901, "other"));
  go_on();
  EXPECT_EQ(loop_->status().interrupted_steps, before);
}

TEST_F(Fairness, AStepIsNotInterruptedForACallerThatHasHadAStepMore) {
  ASSERT_NO_FATAL_FAILURE(start_beside_a_greedy_one());
  first_token({}, request(0, 250, 1, 900, "other"));
  first_token({}, request(0, 250, 1, 901, "other"));
  const std::uint64_t before = loop_->status().interrupted_steps;
  step();
  arrive(clock_.now() + std::chrono::milliseconds(100), request(0, 16, 1, 902, "other"));
  go_on();
  EXPECT_EQ(loop_->status().interrupted_steps, before);
}

TEST_F(Fairness, AfterALossOfTheComputeUnitStepsCanStillBeInterrupted) {
  runner_.dies_at = Clock::TimePoint(std::chrono::seconds(10));
  VirtualRunnerOptions second = runner_;
  second.dies_at = kNever;
  LoopFallbacks fallbacks;
  fallbacks.compute = [this, second] {
    return std::make_unique<VirtualSource>("second compute", clock_, second);
  };
  start(two_units({.num_pages = 500}, {.num_pages = 500}), std::move(fallbacks));
  loop_->newcomers = [this] { return newcomers(); };
  for (std::uint32_t i = 0; i < 32; ++i) submit(request(0, 10, kEndless, i, "greedy"));
  while (clock_.now() < Clock::TimePoint(std::chrono::seconds(20))) step();
  ASSERT_EQ(loop_->status().compute_id, "second compute");
  first_token(std::chrono::milliseconds(100), request(0, 16, 1, 900, "other"));
  EXPECT_EQ(loop_->status().interrupted_steps, 1u);
}

class ServedRows : public VirtualTime {
 protected:
  Sequence* push(const std::string& caller) {
    const RequestId id = ++last_id_;
    queues_.push_back(std::make_unique<Sequence>(id, request(0, 4, 4, 1, caller), EventSink(),
                                                 model_, 4096, clock_));
    return queues_.find(id);
  }
  void leave(Sequence* sequence) { queues_.take(sequence->id()); }
  void list(std::int64_t most_credit = 1000) { queues_.list({}, most_credit, views_); }

  CallerQueues queues_;
  std::vector<CallerView> views_;
};

TEST_F(ServedRows, ACallerThatComesBackBringsNoCreditAndKeepsItsDebt) {
  Sequence* first = push("first");
  Sequence* second = push("second");
  first->queue->view.served_rows = 100;
  second->queue->view.served_rows = 300;
  EXPECT_EQ(queues_.served_rows("third"), 100) << "level with the one that was served least";
  leave(second);
  list();
  EXPECT_EQ(queues_.served_rows("second"), 300) << "it is remembered";
  first->queue->view.served_rows = 290;
  list();
  EXPECT_EQ(push("second")->queue->view.served_rows, 300);
  leave(queues_.find(3));
  list();
  first->queue->view.served_rows = 310;
  list();
  EXPECT_EQ(queues_.served_rows("second"), 310) << "no credit";
  leave(first);
  list();
  EXPECT_EQ(queues_.served_rows("first"), 0) << "nobody is there to compare with";
}

TEST_F(ServedRows, AnAbsentCallerIsForgottenOnceTheOthersHaveHadAsMuch) {
  Sequence* first = push("first");
  Sequence* second = push("second");
  first->queue->view.served_rows = 100;
  second->queue->view.served_rows = 300;
  leave(second);
  list();
  EXPECT_EQ(queues_.num_remembered(), 1u);
  first->queue->view.served_rows = 299;
  list();
  EXPECT_EQ(queues_.num_remembered(), 1u);
  first->queue->view.served_rows = 300;
  list();
  EXPECT_EQ(queues_.num_remembered(), 0u);
}

TEST_F(ServedRows, CreditIsBounded) {
  Sequence* first = push("first");
  Sequence* second = push("second");
  first->queue->view.served_rows = 5000;
  second->queue->view.served_rows = 30;
  list(1000);
  EXPECT_EQ(second->queue->view.served_rows, 4000);
  EXPECT_EQ(first->queue->view.served_rows, 5000);
  EXPECT_EQ(views_.at(1).served_rows, 4000);
}

class LargeRequests : public VirtualTime {
 protected:
  // The other caller always has requests of a fifth of all pages in the queue.
  void keep_busy() {
    while (num_started_ < small_.size() && !served_.at(small_[num_started_]).tokens.empty()) {
      ++num_started_;
    }
    while (small_.size() < num_started_ + 3) {
      const auto seed = 1000 + static_cast<std::uint32_t>(small_.size());
      small_.push_back(submit(request(0, 200, 40, seed, "steady")));
    }
  }
  std::size_t num_started_ = 0;
  std::vector<RequestId> small_;
};

TEST_F(LargeRequests, ARequestBeyondItsCallersShareRunsUnderSteadyLoadOfAnother) {
  start(two_units({.num_pages = 40}, {.num_pages = 40}));
  keep_busy();
  for (int i = 0; i < 5; ++i) step();
  const RequestId large = submit(request(0, 60 * 16, 30, 1, "large"));
  int num_steps = 0;
  for (; num_steps < 3000 && !served_.at(large).last.finish; ++num_steps) {
    keep_busy();
    step();
  }
  EXPECT_LT(num_steps, 1500);
  expect_served(large);
  while (!loop_->idle()) step();
  expect_all_served();
}

TEST_F(LargeRequests, OneWhoseCallerHasSomethingRunningIsNotOverdue) {
  start(two_units({.num_pages = 40}, {.num_pages = 40}));
  submit(request(0, 10, 600, 1, "large"));
  step();
  const RequestId large = submit(request(0, 60 * 16, 30, 2, "large"));
  for (int i = 0; i < 400; ++i) {
    keep_busy();
    step();
  }
  EXPECT_GT(num_started_, 20u) << "newer ones pass it";
  EXPECT_EQ(loop_->status().preemptions, 2u) << "its own: twice it joined while there was room";
  EXPECT_EQ(served_.at(large).tokens.size(), 0u);
}

TEST_F(LargeRequests, ItDoesNotHoldUpTheOtherForLong) {
  start(two_units({.num_pages = 40}, {.num_pages = 40}));
  keep_busy();
  std::vector<RequestId> large;
  std::size_t num_ended = 0, started = 0;
  int waited = 0, longest = 0;
  for (int i = 0; i < 4000; ++i) {
    // Requests that need nearly all pages, and would keep them long.
    if (num_ended == large.size()) {
      const auto seed = static_cast<std::uint32_t>(large.size());
      large.push_back(submit(request(0, 70 * 16, 100, seed, "large")));
    }
    step();
    num_ended += served_.at(large.back()).last.finish.has_value();
    keep_busy();
    if (std::exchange(started, num_started_) != num_started_) waited = 0;
    longest = std::max(longest, ++waited);
  }
  EXPECT_GT(num_started_, 100u);
  EXPECT_GE(num_ended, 2u);
  EXPECT_LT(longest, 150);
  while (!loop_->idle()) step();
  expect_all_served();
}

}  // namespace
}  // namespace tandem::engine
