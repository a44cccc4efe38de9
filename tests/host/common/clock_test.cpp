// SPDX-License-Identifier: Apache-2.0
//
// Clocks, and deadlines that go by them.
#include "common/clock.h"

#include <gtest/gtest.h>

#include "common/deadline.h"

namespace tandem {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(Clock, TheRealOneNeverGoesBack) {
  const Clock::TimePoint first = real_clock().now();
  const Clock::TimePoint second = real_clock().now();
  EXPECT_GE(second, first);
  EXPECT_LE(second, std::chrono::steady_clock::now());
}

TEST(Clock, AVirtualOneStandsStillUntilItIsAdvanced) {
  VirtualClock clock;
  const Clock::TimePoint start = clock.now();
  EXPECT_EQ(clock.now(), start);
  clock.advance(hours(3));
  EXPECT_EQ(clock.now() - start, hours(3));
  clock.advance_to(start + hours(5));
  clock.advance_to(start + hours(4));
  EXPECT_EQ(clock.now() - start, hours(5)) << "it never goes back";
}

TEST(Clock, ADeadlineExpiresInTheTimeThatItWasMadeIn) {
  VirtualClock clock;
  const Deadline deadline = Deadline::after(seconds(10), clock);
  clock.advance(seconds(4));
  EXPECT_FALSE(deadline.expired());
  EXPECT_EQ(deadline.remaining(), seconds(6));
  clock.advance(seconds(6));
  EXPECT_TRUE(deadline.expired());
  EXPECT_EQ(deadline.remaining(), Clock::Duration::zero());
  clock.advance(hours(24 * 365 * 200));
  EXPECT_FALSE(Deadline::never().expired());
}

TEST(Clock, ADeadlineOfAVirtualOneIsAtTheSameDistanceInRealTime) {
  VirtualClock clock;
  const Deadline deadline = Deadline::after(hours(1), clock);
  EXPECT_GT(deadline.time_point(), std::chrono::steady_clock::now() + std::chrono::minutes(59));
  clock.advance(hours(1));
  const auto expired_at = deadline.time_point();
  EXPECT_LE(expired_at, std::chrono::steady_clock::now());
}

}  // namespace
}  // namespace tandem
