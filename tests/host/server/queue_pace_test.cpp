// SPDX-License-Identifier: Apache-2.0
//
// QueuePace in virtual time.
#include "server/queue_pace.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

namespace tandem::server {
namespace {

// `count` generations, one after the other.
void serve(QueuePace& pace, VirtualClock& clock, int count, std::chrono::milliseconds each) {
  for (int i = 0; i < count; ++i) {
    pace.count_begin();
    clock.advance(each);
    pace.count_end();
  }
}

TEST(QueuePace, GrowsWithTheTimeInWhichNothingHasEnded) {
  VirtualClock clock;
  QueuePace pace(clock);
  EXPECT_EQ(pace.seconds_for(100), 1);
  pace.count_begin();
  clock.advance(std::chrono::seconds(2));
  EXPECT_EQ(pace.seconds_for(100), 2);
  clock.advance(std::chrono::seconds(48));
  EXPECT_GE(pace.seconds_for(100), 25);
  EXPECT_LE(pace.seconds_for(100), 50);
}

TEST(QueuePace, TellsTheTimeOfTheWholeQueue) {
  VirtualClock clock;
  QueuePace pace(clock);
  serve(pace, clock, 20, std::chrono::milliseconds(500));
  EXPECT_EQ(pace.seconds_for(1), 1);
  const int ten = pace.seconds_for(10);
  EXPECT_GE(ten, 4);
  EXPECT_LE(ten, 6);
  EXPECT_EQ(pace.seconds_for(1000000), 120);
}

TEST(QueuePace, FollowsTheLastMinute) {
  VirtualClock clock;
  QueuePace pace(clock);
  serve(pace, clock, 100, std::chrono::milliseconds(100));
  EXPECT_LE(pace.seconds_for(10), 2);
  serve(pace, clock, 60, std::chrono::seconds(5));
  EXPECT_GE(pace.seconds_for(10), 40);
}

TEST(QueuePace, TimeWithoutGenerationsDoesNotCount) {
  VirtualClock clock;
  QueuePace pace(clock);
  serve(pace, clock, 20, std::chrono::milliseconds(500));
  const int before = pace.seconds_for(10);
  clock.advance(std::chrono::hours(5));
  EXPECT_EQ(pace.seconds_for(10), before);
}

// What submit() does, and whether time goes on to count when it is over.
void expect_nothing_counts_after(const std::function<SubmitResult(QueuePace&)>& submit) {
  VirtualClock clock;
  QueuePace pace(clock);
  serve(pace, clock, 20, std::chrono::milliseconds(500));
  try {
    submit_counted(pace, 1, [&] { return submit(pace); });
  } catch (const std::runtime_error&) {
  }
  const int before = pace.seconds_for(10);
  clock.advance(std::chrono::hours(5));
  EXPECT_EQ(pace.seconds_for(10), before);
}

TEST(QueuePace, AGenerationMayEndBeforeItsSubmissionReturns) {
  expect_nothing_counts_after([](QueuePace& pace) {
    pace.count_end();
    return SubmitResult{SubmitStatus::kAccepted, {1}};
  });
}

TEST(QueuePace, ARefusedGenerationDoesNotCount) {
  expect_nothing_counts_after([](QueuePace&) { return SubmitResult{SubmitStatus::kQueueFull}; });
  expect_nothing_counts_after(
      [](QueuePace&) -> SubmitResult { throw std::runtime_error("no such token"); });
}

TEST(QueuePace, GenerationsThatAreRefusedTogetherDoNotCount) {
  VirtualClock clock;
  QueuePace pace(clock);
  serve(pace, clock, 20, std::chrono::milliseconds(500));
  submit_counted(pace, 3, [] { return SubmitResult{SubmitStatus::kQueueFull}; });
  const int before = pace.seconds_for(10);
  clock.advance(std::chrono::hours(5));
  EXPECT_EQ(pace.seconds_for(10), before);
}

TEST(QueuePace, OfGenerationsThatBeginTogetherEachCountsUntilItEnds) {
  VirtualClock clock;
  QueuePace pace(clock);
  submit_counted(pace, 3, [] { return SubmitResult{SubmitStatus::kAccepted, {1, 2, 3}}; });
  pace.count_end();
  pace.count_end();
  clock.advance(std::chrono::seconds(60));
  EXPECT_GE(pace.seconds_for(2), 30) << "the third runs";
}

TEST(QueuePace, AnAcceptedGenerationCountsUntilItEnds) {
  VirtualClock clock;
  QueuePace pace(clock);
  submit_counted(pace, 1, [] { return SubmitResult{SubmitStatus::kAccepted, {1}}; });
  clock.advance(std::chrono::seconds(20));
  pace.count_end();
  EXPECT_GE(pace.seconds_for(1), 15);
}

}  // namespace
}  // namespace tandem::server
