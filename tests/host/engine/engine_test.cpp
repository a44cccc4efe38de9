// SPDX-License-Identifier: Apache-2.0
//
// What a caller of the engine relies on: limits, queueing, cancellation, counts, and what happens
// when nothing can run.
#include "engine/engine.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "common/error.h"
#include "host/engine/engine_rig.h"
#include "host/engine/sink_hold.h"

namespace tandem::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class EngineTest : public testing::Test {
 protected:
  Answer run_one(const Request& request, const EngineOptions& options = {}) {
    auto engine = rig_.engine(rig_.cpu_units({64}), options);
    return run_all(*engine, {request}).front();
  }
  static std::string error_of(Engine& engine, Request request) {
    try {
      engine.submit(std::move(request), {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  EngineRig rig_;
};

TEST_F(EngineTest, TheHeartbeatAgesWhileTheThreadIsHeldAndNotWhileItWaitsForWork) {
  using namespace std::chrono_literals;
  EngineOptions options;
  options.idle_check = 10ms;
  auto engine = rig_.engine(rig_.cpu_units({64}), options);
  const auto eventually = [&](bool old) {
    for (int i = 0; i < 6000; ++i) {
      if ((engine->heartbeat_age() >= 500ms) == old) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  };
  std::promise<void> release;
  std::atomic<bool> held{false};
  Listener listener;
  listener.on_event = [&](const Answer&) {
    if (!held.exchange(true)) release.get_future().wait();
  };
  engine->submit(greedy(rig_.prompt(5, 1), 2), listener.sink());
  EXPECT_TRUE(eventually(true)) << "a thread that is held does not come round";
  release.set_value();
  listener.wait();
  std::this_thread::sleep_for(600ms);  // nothing to do for longer than that
  EXPECT_TRUE(eventually(false)) << "an idle thread comes round";
}

// Each request is shorter than the time between two lists of what runs.
TEST_F(EngineTest, ShortRequestsAreListedWhileTheyRun) {
  auto engine = rig_.engine(rig_.cpu_units({64}), {});
  engine->sequences();  // asks for lists
  run_all(*engine, {greedy(rig_.prompt(5, 1), 4)});
  bool seen = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!seen && std::chrono::steady_clock::now() < end) {
    std::promise<void> ended;
    engine->submit(greedy(rig_.prompt(5, 1), 4), [&](const RequestEvent& event) {
      seen = seen || !engine->sequences().empty();
      if (event.finish) ended.set_value();
    });
    ended.get_future().wait();
  }
  EXPECT_TRUE(seen);
}

TEST_F(EngineTest, RefusesAPromptThatCanNeverFitNamingBothLengths) {
  auto engine = rig_.engine(rig_.cpu_units({4}), {});
  EXPECT_EQ(engine->max_request_tokens(), 64);
  EXPECT_THAT(error_of(*engine, greedy(rig_.prompt(64, 1), 1)),
              AllOf(HasSubstr("[engine]"), HasSubstr("64"), HasSubstr("tokens")));
  EXPECT_THAT(error_of(*engine, greedy(rig_.prompt(90, 1), 1)),
              AllOf(HasSubstr("90"), HasSubstr("64")));
  EXPECT_EQ(error_of(*engine, greedy(rig_.prompt(63, 1), 1)), "");
}

TEST_F(EngineTest, RefusesBadFieldsByName) {
  auto engine = rig_.engine(rig_.cpu_units({64}), {});
  const auto with = [&](auto change) {
    Request request = greedy(rig_.prompt(4, 1), 4);
    change(request);
    return error_of(*engine, request);
  };
  EXPECT_THAT(with([](Request& r) { r.prompt.clear(); }), HasSubstr("prompt"));
  EXPECT_THAT(with([](Request& r) { r.prompt[1] = 100000; }), HasSubstr("100000"));
  EXPECT_THAT(with([](Request& r) { r.prompt[1] = -1; }), HasSubstr("-1"));
  EXPECT_THAT(with([](Request& r) { r.max_tokens = -1; }), HasSubstr("max_tokens"));
  EXPECT_THAT(with([](Request& r) { r.top_logprobs = 21; }), HasSubstr("top_logprobs"));
  EXPECT_THAT(with([](Request& r) { r.stop_tokens = {-5}; }), HasSubstr("stop_tokens"));
  EXPECT_THAT(with([](Request& r) { r.sampling.temperature = std::nanf(""); }),
              HasSubstr("temperature"));
}

TEST_F(EngineTest, RefusesOptionsAndUnitsThatDoNotFitTheModel) {
  const auto error_with = [&](std::vector<NamedUnit> units, const EngineOptions& options) {
    try {
      rig_.engine(std::move(units), options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(error_with({}, {}), HasSubstr("attention unit"));
  EXPECT_THAT(error_with(rig_.cpu_units({4}), {.max_step_tokens = 0}),
              HasSubstr("max_step_tokens"));
  EXPECT_THAT(error_with(rig_.cpu_units({4}), {.context_length = 100000}),
              AllOf(HasSubstr("100000"), HasSubstr("512")));
  auto geometry = rig_.geometry();
  geometry.num_layers = 5;
  std::vector<NamedUnit> units = rig_.cpu_units({4});
  units.push_back(
      {"odd", std::make_unique<test::NaiveAttentionUnit>(geometry, test::NaiveUnitOptions{})});
  EXPECT_THAT(error_with(std::move(units), {}), HasSubstr("odd"));
  geometry = rig_.geometry(DType::kI8);
  units = rig_.cpu_units({4});
  units.push_back(
      {"odd", std::make_unique<test::NaiveAttentionUnit>(geometry, test::NaiveUnitOptions{})});
  EXPECT_THAT(error_with(std::move(units), {}), HasSubstr("KV type"));
}

TEST_F(EngineTest, SaysWhenTheQueueIsFull) {
  EngineOptions options;
  options.max_running = 1;
  options.max_waiting = 2;
  SinkHold first;  // meanwhile the queue cannot move
  auto engine = rig_.engine(rig_.cpu_units({64}), options);
  Listener running;
  running.on_event = [&](const Answer&) { first.hold(); };
  engine->submit(greedy(rig_.prompt(4, 1), 4), running.sink());
  first.wait_until_held();
  Listener waiting[2];
  for (Listener& listener : waiting) {
    EXPECT_EQ(engine->submit(greedy(rig_.prompt(4, 1), 4), listener.sink()).status,
              SubmitStatus::kAccepted);
  }
  EXPECT_EQ(engine->status().waiting, 2);
  EXPECT_EQ(engine->submit(greedy(rig_.prompt(4, 1), 4), {}).status, SubmitStatus::kQueueFull);
  first.open();
  for (Listener& listener : waiting) EXPECT_EQ(listener.wait().finish, FinishReason::kLength);
}

TEST_F(EngineTest, CancellationFreesPagesBeforeTheSinkHears) {
  SinkHold third;
  auto engine = rig_.engine(rig_.cpu_units({64}), {});
  Listener listener;
  std::atomic<std::uint32_t> used_at_end{999};
  listener.on_event = [&](const Answer& answer) {
    if (answer.last.finish) used_at_end = pages_used(*engine);
    if (answer.tokens.size() == 3) third.hold();
  };
  const auto submitted = engine->submit(greedy(rig_.prompt(100, 1), 400), listener.sink());
  third.wait_until_held();
  engine->cancel(submitted.id);
  third.open();
  EXPECT_EQ(listener.wait().finish, FinishReason::kCancelled);
  EXPECT_EQ(used_at_end, 0u);
  engine->cancel(submitted.id);  // finished: ignored
  engine->cancel(12345);         // unknown: ignored
  EXPECT_EQ(run_all(*engine, {greedy(rig_.prompt(4, 1), 4)}).front().tokens.size(), 4u);
}

TEST_F(EngineTest, ASinkMayCancelItsOwnRequest) {
  auto engine = rig_.engine(rig_.cpu_units({64}), {});
  Listener listener;
  std::atomic<RequestId> id{0};
  listener.on_event = [&](const Answer& answer) {
    if (answer.tokens.size() < 5) return;
    while (id == 0) std::this_thread::yield();  // submit() has not returned
    engine->cancel(id);
  };
  id = engine->submit(greedy(rig_.prompt(10, 1), 450), listener.sink()).id;
  const Answer answer = listener.wait();
  EXPECT_EQ(answer.finish, FinishReason::kCancelled);
  EXPECT_LT(answer.tokens.size(), 450u);
  EXPECT_EQ(pages_used(*engine), 0u);
}

TEST_F(EngineTest, CancelsARequestThatStillWaits) {
  EngineOptions options;
  options.max_running = 1;
  SinkHold first_token, third_token;
  auto engine = rig_.engine(rig_.cpu_units({64}), options);
  Listener running, waiting;
  running.on_event = [&](const Answer& answer) {
    first_token.hold();
    if (answer.tokens.size() == 3) third_token.hold();
  };
  const auto first = engine->submit(greedy(rig_.prompt(10, 1), 450), running.sink());
  first_token.wait_until_held();
  const auto second = engine->submit(greedy(rig_.prompt(10, 2), 4), waiting.sink());
  first_token.open();
  third_token.wait_until_held();
  engine->cancel(second.id);
  third_token.open();
  const Answer answer = waiting.wait();
  EXPECT_EQ(answer.finish, FinishReason::kCancelled);
  EXPECT_TRUE(answer.tokens.empty());
  engine->cancel(first.id);
  running.wait();
}

TEST_F(EngineTest, DrainsAndThenRefuses) {
  auto engine = rig_.engine(rig_.cpu_units({64}), {});
  Listener listener;
  engine->submit(greedy(rig_.prompt(4, 1), 50), listener.sink());
  EXPECT_FALSE(engine->status().draining);
  EXPECT_TRUE(engine->drain(Deadline::after(std::chrono::seconds(60))));
  EXPECT_TRUE(engine->status().draining);
  EXPECT_EQ(listener.wait().finish, FinishReason::kLength);
  EXPECT_EQ(engine->submit(greedy(rig_.prompt(4, 1), 1), {}).status, SubmitStatus::kStopping);
}

TEST_F(EngineTest, DrainGivesUpAtItsDeadlineAndTheDestructorCancels) {
  auto engine = rig_.engine(rig_.cpu_units({64}), {});
  Listener listener;
  std::promise<void> gate;
  auto opened = gate.get_future().share();
  // Behind the gate tokens come slowly: most of them are left when the destructor begins.
  listener.on_event = [&](const Answer& answer) {
    opened.wait();
    if (answer.tokens.size() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  engine->submit(greedy(rig_.prompt(4, 1), 400), listener.sink());
  EXPECT_FALSE(engine->drain(Deadline::after(std::chrono::milliseconds(20))));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.set_value();
  });
  engine.reset();
  opener.join();
  EXPECT_EQ(listener.wait().finish, FinishReason::kCancelled);
}

TEST_F(EngineTest, CountsWhatItDoes) {
  trace::Metrics metrics;
  auto engine = rig_.engine(rig_.cpu_units({64}), {}, {}, &metrics);
  const Request request = greedy(rig_.prompt(40, 1), 10);
  run_all(*engine, {request});
  const Answer second = run_all(*engine, {request}).front();
  EXPECT_EQ(second.last.cached_tokens, 32);
  const EngineStatus status = engine->status();
  EXPECT_EQ(status.prompt_tokens, 80u);
  EXPECT_EQ(status.cached_tokens, 32u);
  EXPECT_EQ(status.generated_tokens, 20u);
  EXPECT_EQ(status.steps, 20u);
  EXPECT_EQ(status.running, 0);
  EXPECT_EQ(status.waiting, 0);
  EXPECT_GT(status.units[0].pages_cached, 0u);
  EXPECT_GT(status.compute.ops, 0u);
  const std::string text = metrics.text();
  for (const char* line :
       {"tandem_tokens_total{kind=\"prompt\"} 80", "tandem_tokens_total{kind=\"cached\"} 32",
        "tandem_tokens_total{kind=\"generated\"} 20",
        "tandem_requests_finished_total{reason=\"length\"} 2",
        "tandem_time_to_first_token_seconds_count 2", "tandem_inter_token_seconds_count 18",
        "tandem_queue_seconds_count 2", "tandem_prefill_seconds_count 2",
        "tandem_decode_seconds_count 2", "tandem_unit_kv_pages{state=\"used\",unit=\"cpu\"} 0",
        "tandem_unit_alive{unit=\"cpu\"} 1", "tandem_requests{state=\"running\"} 0"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(EngineTest, ServesManyThreadsAtOnce) {
  auto engine = rig_.engine(rig_.cpu_units({40, 40}), {.max_running = 8});
  const Answer expected = run_all(*engine, {greedy(rig_.prompt(20, 5), 10)}).front();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 6; ++n) {
        Listener listener;
        const auto submitted = engine->submit(greedy(rig_.prompt(20, 5), 10), listener.sink());
        if ((i + n) % 3 == 0) engine->cancel(submitted.id);
        const Answer answer = listener.wait();
        EXPECT_LE(engine->status().running, 8);
        if (answer.finish == FinishReason::kCancelled) continue;
        EXPECT_EQ(answer.tokens, expected.tokens);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pages_used(*engine), 0u);
}

}  // namespace
}  // namespace tandem::engine
