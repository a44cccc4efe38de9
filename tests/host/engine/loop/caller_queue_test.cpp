// SPDX-License-Identifier: Apache-2.0
//
// Two callers before a whole engine: one that fills the slots and the queue shuts nobody else out.
#include <gmock/gmock.h>

#include <deque>
#include <future>

#include "host/engine/engine_rig.h"
#include "support/hooked_attention_unit.h"

namespace tandem::engine {
namespace {

class CallersOfAnEngine : public testing::Test {
 protected:
  // Answers with kQueueFull or an end.
  SubmitStatus submit(Engine& engine, const std::string& caller, int max_tokens,
                      std::uint32_t seed) {
    Request request = greedy(rig_.prompt(8, seed), max_tokens);
    request.caller = caller;
    listeners_.push_back(std::make_unique<Listener>());
    return engine.submit(std::move(request), listeners_.back()->sink()).status;
  }

  EngineRig rig_;
  std::vector<std::unique_ptr<Listener>> listeners_;
};

TEST_F(CallersOfAnEngine, AnotherStartsWhileOneHoldsEverySlotAndTheWholeQueue) {
  EngineOptions options;
  options.max_running = 4;
  options.max_waiting = 6;
  auto engine = rig_.engine(rig_.cpu_units({2000}), options);
  const int endless = engine->max_request_tokens() - 8;
  std::uint32_t seed = 0;
  while (submit(*engine, "greedy", endless, ++seed) == SubmitStatus::kAccepted) {
  }
  EXPECT_GE(seed, 7u);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(submit(*engine, "other", 5, 100 + seed), SubmitStatus::kAccepted) << i;
    EXPECT_EQ(listeners_.back()->wait().tokens.size(), 5u);
    EXPECT_GT(engine->status().running + engine->status().waiting, 4) << "the others go on";
  }
}

// Nothing runs: the sink of the first request holds the engine.
TEST_F(CallersOfAnEngine, AFullQueueTakesACallerThatHasLessThanItsPart) {
  EngineOptions options;
  options.max_running = 1;
  options.max_waiting = 6;
  auto engine = rig_.engine(rig_.cpu_units({200}), options);
  std::promise<void> held, go_on;
  Request first = greedy(rig_.prompt(4, 1), 0);
  first.caller = "greedy";
  engine->submit(std::move(first), [&](RequestEvent) {
    held.set_value();
    go_on.get_future().wait();
  });
  held.get_future().wait();
  for (std::uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(submit(*engine, "greedy", 2, i), SubmitStatus::kAccepted) << i;
  }
  EXPECT_EQ(submit(*engine, "greedy", 2, 7), SubmitStatus::kQueueFull);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(submit(*engine, "other", 2, i), SubmitStatus::kAccepted) << i;
  }
  EXPECT_EQ(submit(*engine, "other", 2, 7), SubmitStatus::kQueueFull) << "half of six";
  EXPECT_EQ(submit(*engine, "third", 2, 8), SubmitStatus::kAccepted);
  go_on.set_value();
  EXPECT_TRUE(engine->drain(Deadline::after(std::chrono::minutes(1))));
}

// Of two calls in a row, one is for the first of two layers.
TEST_F(CallersOfAnEngine, AStepEndsForARequestThatArrivesInItsMiddle) {
  Engine* running = nullptr;
  Listener second, third;
  int num_calls = 0;
  std::promise<void> all_there;  // the first call waits until the greedy caller's requests are in
  test::UnitHooks hooks;
  hooks.on_submit = [&] {
    if (num_calls == 0) all_there.get_future().wait();
    if (++num_calls != 41 && num_calls != 42) return;
    Request request = greedy(rig_.prompt(8, 100), 3);
    request.caller = num_calls == 41 ? "second" : "third";
    running->submit(std::move(request), (num_calls == 41 ? second : third).sink());
  };
  std::vector<NamedUnit> units;
  units.push_back(rig_.cpu_unit(200));
  units[0].unit = std::make_unique<test::HookedAttentionUnit>(std::move(units[0].unit), hooks);
  const auto engine = rig_.engine(std::move(units), {});
  running = engine.get();
  for (std::uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(submit(*engine, "greedy", 60, i), SubmitStatus::kAccepted);
  }
  all_there.set_value();
  for (const auto& listener : listeners_) EXPECT_EQ(listener->wait().tokens.size(), 60u);
  EXPECT_EQ(second.wait().tokens.size(), 3u);
  EXPECT_EQ(third.wait().tokens.size(), 3u);
  EXPECT_EQ(engine->status().interrupted_steps, 1u);
}

// All slots are taken. The first request interrupts a step; the later ones wait behind it.
TEST_F(CallersOfAnEngine, ACallerWhoseRequestsWaitInterruptsNobody) {
  Engine* running = nullptr;
  std::deque<Listener> others;
  int num_calls = 0;
  std::promise<void> all_there;
  test::UnitHooks hooks;
  hooks.on_submit = [&] {
    if (num_calls == 0) all_there.get_future().wait();
    if (++num_calls < 41 || num_calls > 60) return;
    Request request = greedy(rig_.prompt(8, static_cast<std::uint32_t>(num_calls)), 40);
    request.caller = "other";
    running->submit(std::move(request), others.emplace_back().sink());
  };
  std::vector<NamedUnit> units;
  units.push_back(rig_.cpu_unit(800));
  units[0].unit = std::make_unique<test::HookedAttentionUnit>(std::move(units[0].unit), hooks);
  EngineOptions options;
  options.max_running = 6;
  const auto engine = rig_.engine(std::move(units), options);
  running = engine.get();
  for (std::uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(submit(*engine, "greedy", 60, i), SubmitStatus::kAccepted);
  }
  all_there.set_value();
  for (const auto& listener : listeners_) EXPECT_EQ(listener->wait().tokens.size(), 60u);
  for (Listener& other : others) EXPECT_EQ(other.wait().tokens.size(), 40u);
  EXPECT_EQ(others.size(), 20u);
  EXPECT_EQ(engine->status().interrupted_steps, 1u);
}

}  // namespace
}  // namespace tandem::engine
