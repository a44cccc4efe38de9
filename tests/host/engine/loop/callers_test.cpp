// SPDX-License-Identifier: Apache-2.0
//
// Two callers in virtual time: whatever one does, a request of the other within its share of slots
// and pages starts within two steps, and no other caller finds its cached prefixes.
#include <gmock/gmock.h>

#include <random>

#include "host/engine/loop/virtual_time_rig.h"

namespace tandem::engine {
namespace {

class Callers : public VirtualTime {
 protected:
  // Steps until the request has its first token.
  int steps_to_first_token(RequestId id) {
    int num_steps = 0;
    for (; num_steps < 2000 && served_.at(id).tokens.empty(); ++num_steps) step();
    return num_steps;
  }
  void finish() {
    loop_->cancel_all();
    for (Delivery& delivery : loop_->take_deliveries()) delivery.sink(std::move(delivery.event));
    EXPECT_EQ(pages_used(), 0u);
  }
};

TEST_F(Callers, ASecondCallerStartsAtOnceBesideOneThatHoldsEverySlot) {
  options_.max_running = 8;
  start(two_units({.num_pages = 500}, {.num_pages = 500}));
  for (std::uint32_t i = 0; i < 64; ++i) submit(request(0, 10, kEndless, i, "greedy"));
  for (int i = 0; i < 30; ++i) step();
  EXPECT_EQ(loop_->status().running, 8);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const RequestId id = submit(request(0, 20, 100, 100 + i, "other"));
    EXPECT_LE(steps_to_first_token(id), 2) << i;
  }
  EXPECT_EQ(loop_->status().running, 8);
  for (int i = 0; i < 200; ++i) step();
  for (RequestId id = 65; id <= 68; ++id) expect_served(id);
  finish();
}

TEST_F(Callers, ASecondCallerStartsAtOnceBesideOneThatHoldsEveryPage) {
  start(two_units({.num_pages = 40}, {.num_pages = 40}));
  for (std::uint32_t i = 0; i < 8; ++i) submit(request(0, 150, 1000, i, "greedy"));
  for (int i = 0; i < 60; ++i) step();
  EXPECT_GT(pages_used(), 60u);
  const RequestId id = submit(request(0, 40, 20, 100, "other"));
  EXPECT_LE(steps_to_first_token(id), 2);
  for (int i = 0; i < 30; ++i) step();
  expect_served(id);
  finish();
}

TEST_F(Callers, ALongPromptOfOneDoesNotHoldUpTheOther) {
  start(two_units({.num_pages = 500}, {.num_pages = 500}));
  for (std::uint32_t i = 0; i < 3; ++i) submit(request(0, 4000, 5, i, "greedy"));
  step();
  EXPECT_LE(steps_to_first_token(submit(request(0, 30, 5, 9, "other"))), 2);
  EXPECT_LE(steps_to_first_token(submit(request(0, 30, 5, 10, "greedy"))), 2)
      << "nor a short one of its own";
  while (!loop_->idle()) step();
  expect_all_served();
}

TEST_F(Callers, WithOneSlotTheyTakeTurns) {
  options_.max_running = 1;
  start(two_units({.num_pages = 500}, {.num_pages = 500}));
  const RequestId first = submit(request(0, 10, 400, 1, "greedy"));
  for (int i = 0; i < 100; ++i) step();
  const RequestId second = submit(request(0, 10, 400, 2, "other"));
  EXPECT_LE(steps_to_first_token(second), 2);
  const std::size_t before = served_.at(first).tokens.size();
  while (served_.at(first).tokens.size() == before) step();
  EXPECT_EQ(served_.at(second).tokens.size(), 23u) << "a turn of 32 rows, 10 of them its prompt";
  for (int i = 0; i < 100; ++i) step();
  EXPECT_GT(served_.at(first).tokens.size(), before);
  EXPECT_LT(served_.at(second).tokens.size(), 100u);
  while (!loop_->idle()) step();
  expect_all_served();
}

// Loads of every kind, always more than fits. Requests of the other are within its share.
TEST_F(Callers, WhateverOneDoesTheOtherStartsWithinTwoSteps) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto up_to = [&](std::uint32_t most) {
      return 1 + static_cast<std::uint32_t>(random() % most);
    };
    options_.max_running = 2 + static_cast<int>(up_to(8));
    options_.num_sub_batches = static_cast<int>(up_to(2));
    options_.placement = random() % 2 == 0 ? Placement::kSequences : Placement::kPages;
    start(two_units({.num_pages = 40 + up_to(40)}, {.num_pages = 20 + up_to(40)}));
    for (int round = 0; round < 12; ++round) {
      for (std::uint32_t i = up_to(20); i > 0; --i) {
        submit(request(0, up_to(random() % 3 == 0 ? 300 : 20), static_cast<int>(up_to(300)),
                       random(), "greedy"));
      }
      for (std::uint32_t i = up_to(30); i > 0; --i) step();
      const RequestId id = submit(request(0, up_to(30), 3, random(), "other"));
      EXPECT_LE(steps_to_first_token(id), 2) << round;
    }
    while (!loop_->idle()) step();
    expect_all_served();
    served_.clear();
  }
}

TEST_F(Callers, ServedRowsOfTwoGreedyCallersStayEqual) {
  options_.max_running = 8;
  start(two_units({.num_pages = 500}, {.num_pages = 500}));
  for (std::uint32_t i = 0; i < 40; ++i) submit(request(0, 10, kEndless, i, "many"));
  for (std::uint32_t i = 0; i < 4; ++i) submit(request(0, 10, kEndless, 99 + i, "few"));
  for (int i = 0; i < 200; ++i) step();
  std::map<std::string, std::size_t> tokens;
  for (const auto& [id, served] : served_) tokens[served.request.caller] += served.tokens.size();
  EXPECT_NEAR(static_cast<double>(tokens["many"]), static_cast<double>(tokens["few"]), 40);
  finish();
}

TEST_F(Callers, OneDoesNotFindThePrefixesOfAnother) {
  start(two_units({}, {}));
  for (const char* caller : {"", "first", "second", "first"}) {
    submit(request(96, 4, 2, 1, caller));
    while (!loop_->idle()) step();
  }
  EXPECT_EQ(served_.at(1).last.cached_tokens, 0);
  EXPECT_EQ(served_.at(2).last.cached_tokens, 0);
  EXPECT_EQ(served_.at(3).last.cached_tokens, 0);
  EXPECT_EQ(served_.at(4).last.cached_tokens, 96) << "its own";
  expect_all_served();
}

TEST_F(Callers, TheyShareThePrefixesWhenToldSo) {
  options_.share_prefixes = true;
  start(two_units({}, {}));
  for (const char* caller : {"first", "second"}) {
    submit(request(96, 4, 2, 1, caller));
    while (!loop_->idle()) step();
  }
  EXPECT_EQ(served_.at(2).last.cached_tokens, 96);
  expect_all_served();
}

TEST_F(Callers, EqualPromptsOfOneCallerAreComputedOnce) {
  start(two_units({.num_pages = 500}, {.num_pages = 500}));
  for (int i = 0; i < 16; ++i) submit(request(400, 0, 4, 1));
  while (!loop_->idle()) step();
  EXPECT_EQ(loop_->status().cached_tokens, 15u * 384u);
  expect_all_served();
}

}  // namespace
}  // namespace tandem::engine
