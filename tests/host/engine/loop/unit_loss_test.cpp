// SPDX-License-Identifier: Apache-2.0
//
// The results for callers when attention units are lost and the rest is too small.
// equivalence_test.cpp shows that no token is lost, repeated or changed while the rest suffices.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "common/error.h"
#include "host/engine/engine_rig.h"
#include "support/hooked_attention_unit.h"

namespace tandem::engine {
namespace {

using ::testing::HasSubstr;

class UnitLoss : public testing::Test {
 protected:
  EngineRig rig_;
};

TEST_F(UnitLoss, FailsEveryRequestWhenNoUnitLivesAndThereIsNoFallback) {
  std::vector<NamedUnit> units;
  units.push_back(rig_.naive_unit("mortal", {.num_pages = 128, .lose_after = 20}));
  auto engine = rig_.engine(std::move(units), {});
  EXPECT_FALSE(engine->status().broken);
  const auto answers =
      run_all(*engine, {greedy(rig_.prompt(4, 1), 50), greedy(rig_.prompt(5, 2), 50)});
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.finish, FinishReason::kError);
    EXPECT_THAT(answer.last.error, HasSubstr("lost"));
    EXPECT_FALSE(answer.tokens.empty()) << "what was generated before was delivered";
  }
  EXPECT_TRUE(engine->status().broken);
  const Answer later = run_all(*engine, {greedy(rig_.prompt(4, 1), 5)}).front();
  EXPECT_EQ(later.finish, FinishReason::kError);
}

TEST_F(UnitLoss, FailsARequestThatNoLongerFitsAfterALossWithoutAFallback) {
  std::vector<NamedUnit> units;
  units.push_back(rig_.cpu_unit(2));
  units.push_back(rig_.naive_unit("mortal", {.num_pages = 8, .lose_after = 20}));
  auto engine = rig_.engine(std::move(units), {});
  EXPECT_EQ(engine->max_request_tokens(), 160);
  const Answer answer = run_all(*engine, {greedy(rig_.prompt(60, 1), 60)}).front();
  EXPECT_EQ(answer.finish, FinishReason::kError);
  EXPECT_THAT(answer.last.error, HasSubstr("32"));
  EXPECT_EQ(engine->max_request_tokens(), 32);
  EXPECT_EQ(run_all(*engine, {greedy(rig_.prompt(4, 1), 60)}).front().tokens.size(), 28u);
}

TEST_F(UnitLoss, MakesTheFallbackWhenWhatIsLeftIsTooSmallForAnAcceptedRequest) {
  EngineOptions options;
  options.max_running = 2;
  const std::vector<Request> requests = {greedy(rig_.prompt(60, 1), 60),
                                         greedy(rig_.prompt(20, 2), 100),
                                         greedy(rig_.prompt(40, 3), 110)};  // the third waits
  auto plain = rig_.engine(rig_.cpu_units({64}), options);
  const auto expected = run_all(*plain, requests);
  for (const std::uint64_t lose_after : {0, 6, 20, 100}) {
    SCOPED_TRACE(lose_after);
    std::vector<NamedUnit> units;
    units.push_back(rig_.cpu_unit(2));
    units.push_back(rig_.naive_unit("mortal", {.num_pages = 8, .lose_after = lose_after}));
    int calls = 0;
    auto engine = rig_.engine(std::move(units), options, [&] {
      ++calls;
      return rig_.cpu_unit(8);
    });
    const auto answers = run_all(*engine, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(answers[i].finish, FinishReason::kLength) << answers[i].last.error;
      EXPECT_EQ(answers[i].tokens, expected[i].tokens) << "request " << i;
    }
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(engine->max_request_tokens(), 160);
  }
}

// Of an idle engine whose second unit answers `is_alive` when it is asked.
bool second_unit_is_lost(EngineRig& rig, const std::function<bool()>& is_alive) {
  std::vector<NamedUnit> units;
  units.push_back(rig.cpu_unit(8));
  NamedUnit mortal = rig.cpu_unit(8);
  mortal.id = "mortal";
  test::UnitHooks hooks;
  hooks.is_alive = is_alive;
  mortal.unit =
      std::make_unique<test::HookedAttentionUnit>(std::move(mortal.unit), std::move(hooks));
  units.push_back(std::move(mortal));
  EngineOptions options;
  options.idle_check = std::chrono::milliseconds(1);
  auto engine = rig.engine(std::move(units), options);
  const auto until = Deadline::after(std::chrono::seconds(60));
  while (engine->status().units[1].alive && !until.expired()) std::this_thread::yield();
  EXPECT_TRUE(engine->status().units[0].alive);
  EXPECT_EQ(engine->max_request_tokens(), 128);
  EXPECT_EQ(run_all(*engine, {greedy(rig.prompt(4, 1), 5)}).front().tokens.size(), 5u);
  return !engine->status().units[1].alive;
}

TEST_F(UnitLoss, IsNoticedWhileNothingIsToBeDone) {
  std::atomic<int> questions = 0;
  EXPECT_TRUE(second_unit_is_lost(rig_, [&] { return ++questions < 5; }));
  EXPECT_EQ(questions, 5) << "a lost unit is not asked";
  EXPECT_TRUE(second_unit_is_lost(
      rig_, []() -> bool { throw DeviceError("cuda", "the device went away"); }));
}

TEST_F(UnitLoss, IsNotWhatAnErrorOfAQuestionMeans) {
  NamedUnit asked = rig_.cpu_unit(8);
  std::atomic<int> questions = 0;
  test::UnitHooks hooks;
  hooks.is_alive = [&]() -> bool {
    ++questions;
    throw Error("xrt", "no room for a command");
  };
  asked.unit = std::make_unique<test::HookedAttentionUnit>(std::move(asked.unit), hooks);
  std::vector<NamedUnit> units;
  units.push_back(std::move(asked));
  std::vector<std::string> warnings;  // the engine's thread's, until it is gone
  EngineOptions options;
  options.idle_check = std::chrono::milliseconds(1);
  options.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  auto engine = rig_.engine(std::move(units), options);
  const auto until = Deadline::after(std::chrono::seconds(60));
  while (questions < 5 && !until.expired()) std::this_thread::yield();
  EXPECT_GE(questions, 5);
  EXPECT_EQ(run_all(*engine, {greedy(rig_.prompt(4, 1), 5)}).front().tokens.size(), 5u);
  EXPECT_TRUE(engine->status().units[0].alive);
  engine.reset();
  ASSERT_EQ(warnings.size(), 1u) << "once is enough";
  EXPECT_THAT(warnings[0], HasSubstr("no room for a command"));
}

TEST_F(UnitLoss, MakesNoFallbackWhileWhatIsLeftSuffices) {
  std::vector<NamedUnit> units = rig_.cpu_units({8});
  units.push_back(rig_.naive_unit("mortal", {.num_pages = 64, .lose_after = 1}));
  int calls = 0;
  auto engine = rig_.engine(std::move(units), {.placement = Placement::kPages}, [&] {
    ++calls;
    return rig_.cpu_unit(8);
  });
  EXPECT_EQ(run_all(*engine, {greedy(rig_.prompt(60, 1), 60)}).front().tokens.size(), 60u);
  EXPECT_FALSE(engine->status().units[1].alive);
  EXPECT_EQ(calls, 0);
}

TEST_F(UnitLoss, GoesOnWithWhatIsLeftWhenTheFallbackCannotBeMade) {
  std::vector<NamedUnit> units = rig_.cpu_units({4});
  units.push_back(rig_.naive_unit("mortal", {.num_pages = 64, .lose_after = 1}));
  EngineOptions options;
  options.placement = Placement::kPages;
  auto engine = rig_.engine(std::move(units), options, []() -> NamedUnit {
    throw Error("cpu", "not enough memory for pages");
  });
  const Answer answer = run_all(*engine, {greedy(rig_.prompt(40, 1), 60)}).front();
  EXPECT_EQ(answer.finish, FinishReason::kLength) << answer.last.error;
  EXPECT_EQ(answer.tokens.size(), 24u);
  EXPECT_FALSE(engine->status().broken);
}

TEST_F(UnitLoss, GivesTheFallbackAnIdOfItsOwn) {
  trace::Metrics metrics;
  std::vector<NamedUnit> units;
  units.push_back(rig_.naive_unit("cpu", {.num_pages = 64, .lose_after = 20}));
  auto engine = rig_.engine(
      std::move(units), {}, [&] { return rig_.cpu_unit(64); }, &metrics);
  run_all(*engine, {greedy(rig_.prompt(40, 1), 30)});
  const EngineStatus status = engine->status();
  ASSERT_EQ(status.units.size(), 2u);
  EXPECT_EQ(status.units[0].id, "cpu");
  EXPECT_EQ(status.units[1].id, "cpu:fallback");
  for (const char* line :
       {"tandem_unit_alive{unit=\"cpu\"} 0", "tandem_unit_alive{unit=\"cpu:fallback\"} 1",
        "tandem_unit_kv_pages{state=\"total\",unit=\"cpu\"} 0",
        "tandem_unit_kv_pages{state=\"total\",unit=\"cpu:fallback\"} 64"}) {
    EXPECT_THAT(metrics.text(), HasSubstr(line));
  }
}

TEST_F(UnitLoss, FailsRequestsWhenTheFallbackCannotBeMade) {
  std::vector<NamedUnit> units;
  units.push_back(rig_.naive_unit("mortal", {.num_pages = 128, .lose_after = 20}));
  auto engine = rig_.engine(std::move(units), {}, []() -> NamedUnit {
    throw Error("cpu", "not enough memory for pages");
  });
  const Answer answer = run_all(*engine, {greedy(rig_.prompt(4, 1), 50)}).front();
  EXPECT_EQ(answer.finish, FinishReason::kError);
  EXPECT_THAT(answer.last.error, HasSubstr("not enough memory"));
}

TEST_F(UnitLoss, FailsRequestsWhenTheFallbackIsLostToo) {
  std::vector<NamedUnit> units;
  units.push_back(rig_.naive_unit("first", {.num_pages = 128, .lose_after = 20}));
  auto engine = rig_.engine(std::move(units), {}, [&] {
    return rig_.naive_unit("second", {.num_pages = 128, .lose_after = 20});
  });
  const Answer answer = run_all(*engine, {greedy(rig_.prompt(4, 1), 50)}).front();
  EXPECT_EQ(answer.finish, FinishReason::kError);
  EXPECT_EQ(engine->status().rebuilt_sequences, 2u);
}

TEST_F(UnitLoss, IsWhatADeviceErrorInAWaitMeans) {
  const std::vector<Request> requests = {greedy(rig_.prompt(20, 1), 30)};
  const auto expected = run_all(*rig_.engine(rig_.cpu_units({64}), {}), requests);
  int calls = 0;
  test::UnitHooks hooks;
  hooks.on_wait = [&] {
    if (++calls > 20) throw DeviceError("xrt", "the card fell off the bus");
  };
  std::vector<NamedUnit> units;
  units.push_back(rig_.naive_unit("mortal", {.num_pages = 64}));
  units[0].unit = std::make_unique<test::HookedAttentionUnit>(std::move(units[0].unit), hooks);
  auto engine = rig_.engine(std::move(units), {}, [&] { return rig_.cpu_unit(64); });
  const Answer answer = run_all(*engine, requests).front();
  EXPECT_EQ(answer.finish, FinishReason::kLength) << answer.last.error;
  EXPECT_EQ(answer.tokens, expected.front().tokens);
  EXPECT_FALSE(engine->status().units[0].alive);
}

// The executor knows whether a wait ended in a loss or in its timeout.
TEST_F(UnitLoss, TheWarningSaysHowAStepLostTheUnit) {
  const auto warning_of = [&](const test::NaiveUnitOptions& mortal,
                              std::chrono::milliseconds timeout) {
    std::vector<std::string> warnings;  // the engine's thread's, until it is gone
    EngineOptions options;
    options.device_timeout = timeout;
    options.on_warning = [&](const std::string& text) { warnings.push_back(text); };
    std::vector<NamedUnit> units;
    units.push_back(rig_.naive_unit("mortal", mortal));
    auto engine = rig_.engine(std::move(units), options, [&] { return rig_.cpu_unit(64); });
    run_all(*engine, {greedy(rig_.prompt(20, 1), 30)});
    engine.reset();
    return warnings.empty() ? "" : warnings.front();
  };
  EXPECT_THAT(warning_of({.lose_after = 20}, std::chrono::minutes(1)),
              HasSubstr("mortal is lost: it failed; 1 request is computed again"));
  EXPECT_THAT(warning_of({.slow_batch = 20, .slow_for = std::chrono::milliseconds(1000)},
                         std::chrono::milliseconds(100)),
              HasSubstr("mortal is lost: it gave no answer for 100 ms; 1 request is"));
}

TEST_F(UnitLoss, ShowsInTheMetrics) {
  trace::Metrics metrics;
  std::vector<NamedUnit> units = rig_.cpu_units({64});
  units.push_back(rig_.naive_unit("mortal", {.num_pages = 64, .lose_after = 4}));
  EngineOptions options;
  options.placement = Placement::kPages;
  auto engine = rig_.engine(std::move(units), options, {}, &metrics);
  run_all(*engine, {greedy(rig_.prompt(40, 1), 10)});
  EXPECT_THAT(metrics.text(), HasSubstr("tandem_unit_alive{unit=\"mortal\"} 0"));
  EXPECT_THAT(metrics.text(), HasSubstr("tandem_unit_alive{unit=\"cpu\"} 1"));
  EXPECT_THAT(metrics.text(), HasSubstr("tandem_rebuilt_sequences_total 1"));
}

}  // namespace
}  // namespace tandem::engine
