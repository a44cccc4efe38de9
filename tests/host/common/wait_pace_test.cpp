// SPDX-License-Identifier: Apache-2.0
//
// Pauses with a simulated clock: how late an end is seen, and how often the thread checks.
#include "common/wait_pace.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

using namespace std::chrono_literals;
using Duration = WaitPace::Duration;

constexpr Duration kLook = 1us;  // what a look takes

struct Wait {
  Duration late{};
  int looks = 0;
};

// Work that ends after `length`, waited for with pauses that are kept to the letter.
Wait wait_for(WaitPace& pace, Duration length) {
  Wait wait;
  Duration now{};
  while (now < length) {
    now += std::max(kLook, pace.pause(now));
    ++wait.looks;
  }
  pace.ended(now);
  wait.late = now - length;
  return wait;
}

TEST(WaitPaceTest, EndsOfStepsLikeTheLastAreSeenAtOnce) {
  for (const Duration step : {Duration(80us), Duration(700us), Duration(4ms), Duration(60ms)}) {
    WaitPace pace;
    wait_for(pace, step);
    EXPECT_LE(wait_for(pace, step).late, kLook) << step.count();
    const Duration longer = step + std::min<Duration>(step / 20, 900us);
    EXPECT_LE(wait_for(pace, longer).late, kLook) << longer.count();
  }
}

TEST(WaitPaceTest, NoEndIsSeenMuchLaterThanItIs) {
  WaitPace pace;
  for (const Duration step : {Duration(4ms), Duration(300ms), Duration(3ms), Duration(150us),
                              Duration(4ms), Duration(5ms), Duration(40ms)}) {
    EXPECT_LE(wait_for(pace, step).late, std::max<Duration>(10us, step / 400)) << step.count();
  }
}

TEST(WaitPaceTest, LongWorkIsLeftAloneMostOfTheTime) {
  WaitPace pace;
  wait_for(pace, 200ms);
  EXPECT_LT(wait_for(pace, 200ms).looks, 5000);
}

}  // namespace
}  // namespace tandem
