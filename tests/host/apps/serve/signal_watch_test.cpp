// SPDX-License-Identifier: Apache-2.0
//
// Stop signals by their times. The signals themselves are tested on the program (tests/system).
#include "apps/serve/signal_watch.h"

#include <gtest/gtest.h>

namespace tandem::apps {
namespace {

using std::chrono::milliseconds;
using Wish = StopCount::Wish;

TEST(StopCount, TheFirstSignalAsksToDrain) {
  StopCount count;
  EXPECT_EQ(count.add({}), Wish::kStop);
}

TEST(StopCount, SignalsWithinASecondAreOne) {
  StopCount count;
  const StopCount::Time start{};
  count.add(start);
  EXPECT_EQ(count.add(start), Wish::kSame);
  EXPECT_EQ(count.add(start + milliseconds(999)), Wish::kSame);
  EXPECT_EQ(count.add(start + milliseconds(1000)), Wish::kStopNow);
}

TEST(StopCount, TheThirdSignalKillsAndItsRepetitionDoesNot) {
  StopCount count;
  const StopCount::Time start{};
  count.add(start);
  count.add(start + milliseconds(2000));
  EXPECT_EQ(count.add(start + milliseconds(2500)), Wish::kSame);
  EXPECT_EQ(count.add(start + milliseconds(3000)), Wish::kKill);
}

}  // namespace
}  // namespace tandem::apps
