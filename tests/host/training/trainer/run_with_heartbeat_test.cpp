// SPDX-License-Identifier: Apache-2.0
//
// Parts that last longer than the ranks' timeout, parts that fail, ranks that are lost amid them.
#include "training/trainer/run_with_heartbeat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "common/error.h"
#include "support/ranks.h"
#include "transport/transport_error.h"

namespace tandem::training {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTimeout{4000};

TEST(RunWithHeartbeat, APartMayLastLongerThanTheTimeout) {
  test::run_ranks(3, [](std::unique_ptr<transport::Transport> transport) {
    collectives::Group group(std::move(transport));
    const std::string text = run_with_heartbeat(&group, {kTimeout}, [&]() -> std::string {
      if (group.rank() == 1) std::this_thread::sleep_for(kTimeout + milliseconds(1500));
      return "of rank " + std::to_string(group.rank());
    });
    EXPECT_EQ(text, "of rank 0");
    EXPECT_EQ(run_with_heartbeat(&group, {kTimeout}, [] { return ""; }), "");  // the group goes on
  });
}

TEST(RunWithHeartbeat, AnErrorOfOneRankIsThatOfAll) {
  test::run_ranks(3, [](std::unique_ptr<transport::Transport> transport) {
    collectives::Group group(std::move(transport));
    try {
      run_with_heartbeat(&group, {kTimeout}, [&] {
        if (group.rank() == 2) throw Error("train", "the disk is full");
        return "";
      });
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "[train] rank 2: the disk is full");
    }
    EXPECT_FALSE(group.broken());
  });
}

TEST(RunWithHeartbeat, ARankThatSaysNothingIsLost) {
  test::run_ranks(2, [](std::unique_ptr<transport::Transport> transport) {
    collectives::Group group(std::move(transport));
    if (group.rank() == 1) {
      std::this_thread::sleep_for(kTimeout + milliseconds(500));
      return;
    }
    EXPECT_THROW(run_with_heartbeat(&group, {kTimeout}, [] { return ""; }),
                 transport::TransportError);
  });
}

// Rank 1's loss ends the rounds; rank 0's part goes on until it has said that it is at work.
TEST(RunWithHeartbeat, ARankWhosePartOutlastsALossSaysThatItIsAtWork) {
  std::latch begun(2);
  test::run_ranks(2, [&](std::unique_ptr<transport::Transport> transport) {
    collectives::Group group(std::move(transport));
    begun.arrive_and_wait();
    if (group.rank() == 1) return group.abort("the disk is full");
    std::atomic<int> told = 0;
    const auto part = [&] {
      while (told < 2) std::this_thread::yield();
      return "";
    };
    EXPECT_THROW(run_with_heartbeat(&group, {kTimeout, [&] { ++told; }}, part),
                 transport::TransportError);
    const int before = told;
    std::this_thread::yield();
    EXPECT_EQ(told, before);
  });
}

TEST(RunWithHeartbeat, OneRankOnlyRunsItsPart) {
  EXPECT_EQ(run_with_heartbeat(nullptr, {kTimeout}, [] { return "done"; }), "done");
  EXPECT_THROW(
      run_with_heartbeat(nullptr, {kTimeout}, []() -> std::string { throw Error("train", "no"); }),
      Error);
}

}  // namespace
}  // namespace tandem::training
