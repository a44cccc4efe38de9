// SPDX-License-Identifier: Apache-2.0
//
// The loop, the scheduler and the KV cache that serve, in virtual time and on doubles: hours of
// serving without a model, a device or a wait.
#include <gmock/gmock.h>

#include <map>
#include <random>

#include "engine/kv_cache/kv_mover.h"
#include "engine/loop/engine_loop.h"
#include "host/engine/loop/virtual_devices.h"
#include "support/model_double.h"

namespace tandem::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

constexpr int kVocab = 50;

model::ModelConfig small_config() {
  model::ModelConfig config;
  config.num_layers = 1;
  config.q_heads = config.kv_heads = 1;
  config.head_dim = 2;
  config.vocab_size = kVocab;
  config.context_length = 4096;
  return config;
}

constexpr device::AttentionGeometry kGeometry{1, 1, 1, 2, 16, DType::kF16};

struct Served {
  Request request;
  std::vector<TokenId> tokens;
  RequestEvent last;
};

class VirtualTime : public ::testing::Test {
 protected:
  NamedUnit unit(const std::string& id, const VirtualUnitOptions& options) {
    return {id, std::make_unique<VirtualUnit>(kGeometry, clock_, options)};
  }
  std::vector<NamedUnit> two_units(const VirtualUnitOptions& first,
                                   const VirtualUnitOptions& second) {
    std::vector<NamedUnit> units;
    units.push_back(unit("first", first));
    units.push_back(unit("second", second));
    return units;
  }

  void start(std::vector<NamedUnit> units, LoopFallbacks fallbacks = {}) {
    options_.clock = &clock_;
    options_.step_cost = &cost_;
    VirtualSource source("first compute", clock_, runner_);
    loop_ = std::make_unique<EngineLoop>(model_, source, std::move(units), options_,
                                         std::move(fallbacks));
  }

  Request request(std::size_t shared, std::size_t own, int max_tokens, std::uint32_t seed) const {
    Request result;
    for (std::size_t i = 0; i < shared; ++i) result.prompt.push_back(static_cast<TokenId>(i % 7));
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < own; ++i) {
      result.prompt.push_back(static_cast<TokenId>(random() % kVocab));
    }
    result.sampling.temperature = 0;
    result.max_tokens = max_tokens;
    return result;
  }

  void submit(const Request& request) {
    const RequestId id = ++last_id_;
    served_[id].request = request;
    const auto sink = [this, id](RequestEvent event) {
      for (const TokenOutput& token : event.tokens) served_[id].tokens.push_back(token.id);
      served_[id].last = std::move(event);
    };
    loop_->add(
        std::make_unique<Sequence>(id, request, sink, model_, loop_->max_request_tokens(), clock_));
  }

  void step() {
    loop_->step();
    for (Delivery& delivery : loop_->take_deliveries()) delivery.sink(std::move(delivery.event));
  }
  // Requests arrive `gap` apart; steps follow each other, and an idle loop waits for the next.
  void serve(const std::vector<Request>& requests, Clock::Duration gap) {
    std::size_t arrived = 0;
    while (arrived < requests.size() || !loop_->idle()) {
      const auto next_at = Clock::TimePoint(gap * static_cast<int>(arrived));
      if (arrived < requests.size() && clock_.now() >= next_at) {
        submit(requests[arrived++]);
      } else if (loop_->idle()) {
        clock_.advance_to(next_at);
      } else {
        step();
      }
    }
  }

  // Every request has the tokens that its prompt leads to.
  void expect_all_served() const {
    for (const auto& [id, served] : served_) {
      ASSERT_EQ(served.last.finish, FinishReason::kLength) << id << ": " << served.last.error;
      ASSERT_EQ(served.tokens.size(), static_cast<std::size_t>(served.request.max_tokens)) << id;
      std::vector<TokenId> known = served.request.prompt;
      for (const TokenId token : served.tokens) {
        ASSERT_EQ(token, next_token(known, kVocab)) << id << " behind " << known.size();
        known.push_back(token);
      }
    }
  }
  std::uint32_t pages_used() const {
    std::uint32_t used = 0;
    for (const UnitStatus& unit : loop_->status().units) used += unit.pages_used;
    return used;
  }

  VirtualClock clock_;
  const test::ModelDouble model_{small_config()};
  const planner::ConstantStepCost cost_{{.per_step = 0.5, .per_row = 0.01}};
  VirtualRunnerOptions runner_{
      .vocab_size = kVocab, .cost = &cost_, .device_timeout = seconds(10), .lost_with_it = {}};
  EngineOptions options_{.max_step_tokens = 64};
  std::unique_ptr<EngineLoop> loop_;
  RequestId last_id_ = 0;
  std::map<RequestId, Served> served_;
};

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
    KvMover mover(kv_, kGeometry, seconds(10), clock_);
    PageTable* tables[] = {&table_};
    return mover.move({0, 0, 1, 6}, from, to, tables, true);
  }

  KvCache kv_{16, Placement::kSequences, true};
  PageTable table_;
};

TEST_F(VirtualMoves, ASliceEndsByTheClock) {
  VirtualUnit from(kGeometry, clock_, {.page_time = microseconds(250)});
  VirtualUnit to(kGeometry, clock_, {.page_time = microseconds(250)});
  EXPECT_EQ(move(from, to).num_pages, 4u) << "half a millisecond each, two in all";
  EXPECT_EQ(clock_.now().time_since_epoch(), milliseconds(2));
  EXPECT_THAT(table_.held, ElementsAre(2u, 4u));
}

TEST_F(VirtualMoves, APageThatIsNotThereInTimeLosesItsUnitByTheClock) {
  VirtualUnit from(kGeometry, clock_, {.page_time = milliseconds(1)});
  VirtualUnit to(kGeometry, clock_, {.page_time = seconds(11)});
  const MoveResult result = move(from, to);
  EXPECT_EQ(result.num_pages, 0u);
  EXPECT_EQ(result.lost_unit, 1);
  EXPECT_EQ(clock_.now().time_since_epoch(), seconds(10) + milliseconds(1));
}

}  // namespace
}  // namespace tandem::engine
