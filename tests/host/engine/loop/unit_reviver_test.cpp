// SPDX-License-Identifier: Apache-2.0
//
// A lost unit is tried again until it answers or is dead, then made again.
#include "engine/loop/unit_reviver.h"

#include <gmock/gmock.h>

#include <atomic>

#include "common/error.h"
#include "host/engine/engine_rig.h"
#include "support/hooked_attention_unit.h"

namespace tandem::engine {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class Reviver : public testing::Test {
 protected:
  NamedUnit unit_that(std::function<bool()> is_alive) const {
    NamedUnit unit = rig_.naive_unit("card", {.num_pages = 64});
    test::UnitHooks hooks;
    hooks.is_alive = std::move(is_alive);
    unit.unit = std::make_unique<test::HookedAttentionUnit>(std::move(unit.unit), hooks);
    return unit;
  }
  UnitReviver::Note note() {
    return [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      notes_.push_back(text);
    };
  }
  std::vector<NamedUnit> wait_ready(UnitReviver& reviver) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!reviver.any_ready() && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return reviver.take_ready();
  }
  std::vector<NamedUnit> one(NamedUnit unit) const {
    std::vector<NamedUnit> units;
    units.push_back(std::move(unit));
    return units;
  }

  EngineRig rig_;
  std::mutex mutex_;
  std::vector<std::string> notes_;
};

TEST_F(Reviver, WaitsWhileTheUnitIsSilentAndThenMakesItAgain) {
  std::atomic<int> asked = 0, made = 0;
  const auto silent_twice = [&] {
    if (++asked <= 2) std::this_thread::sleep_for(milliseconds(100));
    return true;
  };
  UnitReviver reviver(
      [&](const std::string& id) {
        EXPECT_EQ(id, "card");
        EXPECT_GE(asked.load(), 3);
        ++made;
        return unit_that({});
      },
      milliseconds(1), note());
  reviver.add_lost(one(unit_that(silent_twice)));
  const auto ready = wait_ready(reviver);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready.front().id, "card");
  EXPECT_TRUE(ready.front().unit);
  EXPECT_EQ(made.load(), 1);
  EXPECT_FALSE(reviver.any_ready());
  ASSERT_EQ(notes_.size(), 1u) << "each reason once";
  EXPECT_THAT(notes_.front(), HasSubstr("card is still lost: it does not answer"));
}

TEST_F(Reviver, TriesAgainWhileTheDeviceCannotBeOpened) {
  std::atomic<int> tries = 0;
  UnitReviver reviver(
      [&](const std::string&) {
        if (++tries < 4) throw Error("xrt", "cannot open card 0");
        return unit_that({});
      },
      milliseconds(1), note());
  reviver.add_lost(one(unit_that([] { return false; })));
  EXPECT_EQ(wait_ready(reviver).size(), 1u);
  EXPECT_EQ(tries.load(), 4);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_.front(), HasSubstr("cannot open card 0"));
}

TEST_F(Reviver, EndsWithALostUnitThatNeverAnswers) {
  std::atomic<bool> asked = false;
  UnitReviver reviver([&](const std::string&) -> NamedUnit { throw Error("test", "never"); },
                      milliseconds(1), note());
  reviver.add_lost(one(unit_that([&] {
    asked = true;
    throw DeviceError("xrt", "gone");
    return true;
  })));
  while (!asked) std::this_thread::sleep_for(milliseconds(1));
}

// The whole engine: the card dies, the requests go on elsewhere, the card comes back and works.
TEST_F(Reviver, AnEngineTakesACardBack) {
  EngineOptions options;
  options.revive_interval = options.idle_check = milliseconds(2);
  options.placement = Placement::kPages;
  std::atomic<bool> may_return = false;
  Fallbacks fallbacks;
  fallbacks.revive = [&](const std::string& id) {
    if (!may_return) throw Error("xrt", "not yet");
    return rig_.naive_unit(id, {.num_pages = 64});
  };
  std::vector<NamedUnit> units = rig_.cpu_units({64});
  units.push_back(rig_.naive_unit("card", {.num_pages = 64, .lose_after = 8}));
  const std::vector<Request> requests = {greedy(rig_.prompt(40, 1), 20),
                                         greedy(rig_.prompt(60, 2), 20)};
  const auto expected = run_all(*rig_.engine(rig_.cpu_units({128}), options), requests);
  auto engine = rig_.engine_on(rig_.compute(), std::move(units), options, std::move(fallbacks));
  const auto with_loss = run_all(*engine, requests);
  EXPECT_THAT(engine->status().lost_units(), testing::ElementsAre("card"));
  may_return = true;
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!engine->status().lost_units().empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  const std::uint64_t launches = engine->status().units[1].stats.launches;
  const auto after = run_all(*engine, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(with_loss[i].tokens, expected[i].tokens);
    EXPECT_EQ(after[i].tokens, expected[i].tokens);
  }
  const EngineStatus status = engine->status();
  EXPECT_EQ(status.units.size(), 2u);
  EXPECT_EQ(status.units[1].losses, 1u);
  EXPECT_GT(status.units[1].stats.launches, launches);
}

}  // namespace
}  // namespace tandem::engine
