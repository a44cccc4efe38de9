// SPDX-License-Identifier: Apache-2.0
//
// Deadline: expiry, the time that remains, and never().
#include "common/deadline.h"

#include <gtest/gtest.h>

#include "common/error.h"

namespace tandem {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Deadline, OfThePastHasExpiredAndLeavesNothing) {
  const Deadline deadline = Deadline::after(milliseconds(-5));
  EXPECT_TRUE(deadline.expired());
  EXPECT_EQ(deadline.remaining(), Deadline::Clock::duration::zero());
}

TEST(Deadline, OfTheFutureLeavesWhatIsLeft) {
  const Deadline deadline = Deadline::after(hours(1));
  EXPECT_FALSE(deadline.expired());
  EXPECT_LE(deadline.remaining(), hours(1));
  EXPECT_GT(deadline.remaining(), milliseconds(3500000));
}

TEST(Deadline, NeverNeverExpiresAndStaysInRange) {
  EXPECT_FALSE(Deadline::never().expired());
  EXPECT_TRUE(Deadline::never().is_never());
  EXPECT_GT(Deadline::never().remaining(), hours(1000));
  // What remains can be added to now without overflow.
  EXPECT_GT(Deadline::Clock::now() + Deadline::never().remaining(), Deadline::Clock::now());
}

TEST(Error, SaysWhichModuleSpeaks) {
  EXPECT_STREQ(Error("gguf", "bad magic").what(), "[gguf] bad magic");
  EXPECT_THROW(throw DeviceError("xrt", "card 0 is gone"), Error);
}

TEST(Check, PrintsBothOperandsAndAborts) {
  EXPECT_DEATH(TANDEM_CHECK_OP(2 + 1, ==, 4), "2 \\+ 1 == 4.*3 vs 4");
  EXPECT_DEATH(TANDEM_CHECK(1 > 2), "invariant broken: 1 > 2");
  TANDEM_CHECK_OP(3, ==, 3);
}

}  // namespace
}  // namespace tandem
