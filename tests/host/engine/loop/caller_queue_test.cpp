// SPDX-License-Identifier: Apache-2.0
//
// Two callers in front of a whole engine: one that fills the slots and the queue does not block the
// other.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <thread>

#include "common/error.h"
#include "host/engine/engine_rig.h"
#include "host/engine/sink_hold.h"
#include "support/hooked_attention_unit.h"

namespace tandem::engine {
namespace {

class CallersOfAnEngine : public testing::Test {
 protected:
  // Answers with kQueueFull or an end.
  SubmitStatus submit(Engine& engine, const std::string& caller, int max_tokens,
                      std::uint32_t seed) {
    listeners_.push_back(std::make_unique<Listener>());
    return engine.submit(request_of(caller, max_tokens, seed), listeners_.back()->sink()).status;
  }

  Request request_of(const std::string& caller, int max_tokens, std::uint32_t seed) const {
    Request request = greedy(rig_.prompt(8, seed), max_tokens);
    request.caller = caller;
    return request;
  }

  // Of several requests together.
  SubmitStatus submit_all(Engine& engine, const std::string& caller, int count) {
    std::vector<Submission> all;
    for (int i = 0; i < count; ++i) {
      all.push_back({greedy(rig_.prompt(8, static_cast<std::uint32_t>(i)), 2), {}});
      all.back().request.caller = caller;
    }
    return engine.submit_all(std::move(all)).status;
  }

  // An engine in which nothing runs until go_on(): the sink of a first request holds its thread.
  std::unique_ptr<Engine> held_engine(int max_waiting) {
    EngineOptions options;
    options.max_running = 1;
    options.max_waiting = max_waiting;
    auto engine = rig_.engine(rig_.cpu_units({200}), options);
    Request first = greedy(rig_.prompt(4, 1), 0);
    first.caller = "greedy";
    std::promise<void> held;
    engine->submit(std::move(first), [&held, opened = opened_](RequestEvent) {
      held.set_value();
      opened.wait();
    });
    held.get_future().wait();
    return engine;
  }
  void go_on() { open_.set_value(); }

  EngineRig rig_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::promise<void> open_;
  std::shared_future<void> opened_ = open_.get_future().share();
};

TEST_F(CallersOfAnEngine, AnotherStartsWhileOneHoldsEverySlotAndTheWholeQueue) {
  EngineOptions options;
  options.max_running = 4;
  options.max_waiting = 6;
  SinkHold queue_fills, slots_are_taken;
  auto engine = rig_.engine(rig_.cpu_units({2000}), options);
  const int endless = engine->max_request_tokens() - 8;
  Listener first;
  first.on_event = [&](const Answer& answer) {
    queue_fills.hold();
    if (answer.tokens.size() == 8) slots_are_taken.hold();
  };
  engine->submit(request_of("greedy", endless, 1), first.sink());
  std::uint32_t seed = 1;
  for (SinkHold* hold : {&queue_fills, &slots_are_taken}) {
    hold->wait_until_held();
    while (submit(*engine, "greedy", endless, ++seed) == SubmitStatus::kAccepted) {
    }
    if (hold == &queue_fills) hold->open();
  }
  EXPECT_EQ(engine->status().running, 4);
  EXPECT_EQ(engine->status().waiting, 6);
  std::array<Listener, 3> others;  // one after another
  std::vector<int> present;        // requests of both, when one of these ends
  const std::function<void(std::size_t)> ask = [&](std::size_t i) {
    others.at(i).on_event = [&, i](const Answer& answer) {
      if (!answer.last.finish) return;
      present.push_back(engine->status().running + engine->status().waiting);
      if (i + 1 < others.size()) ask(i + 1);
    };
    const auto submitted = engine->submit(request_of("other", 5, 100), others.at(i).sink());
    EXPECT_EQ(submitted.status, SubmitStatus::kAccepted);
  };
  ask(0);
  slots_are_taken.open();
  for (Listener& other : others) EXPECT_EQ(other.wait().tokens.size(), 5u);
  EXPECT_THAT(present, testing::Each(testing::Gt(4))) << "the others go on";
}

TEST_F(CallersOfAnEngine, AFullQueueTakesACallerThatHasLessThanItsPart) {
  const auto engine = held_engine(6);
  for (std::uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(submit(*engine, "greedy", 2, i), SubmitStatus::kAccepted) << i;
  }
  EXPECT_EQ(submit(*engine, "greedy", 2, 7), SubmitStatus::kQueueFull);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(submit(*engine, "other", 2, i), SubmitStatus::kAccepted) << i;
  }
  EXPECT_EQ(submit(*engine, "other", 2, 7), SubmitStatus::kQueueFull) << "half of six";
  EXPECT_EQ(engine->admission("greedy"), SubmitStatus::kQueueFull);
  EXPECT_EQ(engine->admission("other"), SubmitStatus::kQueueFull);
  EXPECT_EQ(engine->admission("third"), SubmitStatus::kAccepted);
  EXPECT_EQ(submit(*engine, "third", 2, 8), SubmitStatus::kAccepted);
  go_on();
  EXPECT_TRUE(engine->drain(Deadline::after(std::chrono::minutes(1))));
}

TEST_F(CallersOfAnEngine, RequestsThatComeTogetherAreAllQueuedOrNone) {
  const auto engine = held_engine(6);
  EXPECT_EQ(submit_all(*engine, "a", 7), SubmitStatus::kQueueFull);
  EXPECT_EQ(engine->status().waiting, 0);
  EXPECT_EQ(submit_all(*engine, "a", 4), SubmitStatus::kAccepted);
  EXPECT_EQ(submit_all(*engine, "a", 3), SubmitStatus::kQueueFull);
  EXPECT_EQ(submit_all(*engine, "b", 4), SubmitStatus::kQueueFull) << "half of six";
  EXPECT_EQ(engine->status().waiting, 4);
  EXPECT_EQ(engine->admission("a"), SubmitStatus::kAccepted) << "two fit";
  EXPECT_EQ(submit_all(*engine, "b", 3), SubmitStatus::kAccepted);
  EXPECT_EQ(engine->status().waiting, 7);
  go_on();
  EXPECT_TRUE(engine->drain(Deadline::after(std::chrono::minutes(1))));
  EXPECT_EQ(submit_all(*engine, "a", 1), SubmitStatus::kStopping);
  EXPECT_EQ(engine->admission("a"), SubmitStatus::kStopping);
}

TEST_F(CallersOfAnEngine, OneThatCanNeverBeServedKeepsTheOthersOut) {
  const auto engine = held_engine(6);
  std::vector<Submission> all;
  for (const int length : {4, engine->max_request_tokens() + 1}) {
    const auto size = static_cast<std::size_t>(length);
    all.push_back({greedy(rig_.prompt(size, 1), 2), {}});
  }
  EXPECT_THROW(engine->submit_all(std::move(all)), Error);
  EXPECT_EQ(engine->status().waiting, 0);
  go_on();
}

// Each looks twice whether there is room: before and after its sequences are made.
TEST_F(CallersOfAnEngine, ManyAtOnceNeverPassTheBoundOfTheQueue) {
  const auto engine = held_engine(10);
  std::atomic<int> num_accepted{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 16; ++i) {
    callers.emplace_back([&] {
      if (submit_all(*engine, "a", 4) == SubmitStatus::kAccepted) ++num_accepted;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(num_accepted, 2);
  EXPECT_EQ(engine->status().waiting, 8);
  go_on();
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
