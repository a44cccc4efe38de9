// SPDX-License-Identifier: Apache-2.0
//
// Contexts on compute units: shared ones count, an exclusive one excludes others, a forgotten
// handle has none.
#include "emulation/xrt_shim/card/unit_contexts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::emulation {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const int kHandles[2] = {};
const void* const kOne = &kHandles[0];
const void* const kOther = &kHandles[1];

TEST(UnitContexts, SharedOnesOfAllHandlesCount) {
  UnitContexts contexts;
  EXPECT_TRUE(contexts.open(kOne, 0, true));
  EXPECT_TRUE(contexts.open(kOne, 0, true));
  EXPECT_TRUE(contexts.open(kOther, 0, true));
  EXPECT_TRUE(contexts.close(kOne, 0));
  EXPECT_TRUE(contexts.close(kOne, 0));
  EXPECT_FALSE(contexts.close(kOne, 0));
  EXPECT_TRUE(contexts.close(kOther, 0));
}

TEST(UnitContexts, AnExclusiveOneShutsOthersOut) {
  UnitContexts contexts;
  EXPECT_TRUE(contexts.open(kOne, 0, false));
  EXPECT_FALSE(contexts.open(kOther, 0, true));
  EXPECT_FALSE(contexts.open(kOther, 0, false));
  EXPECT_TRUE(contexts.open(kOther, 1, false)) << "another unit";
  EXPECT_TRUE(contexts.close(kOne, 0));
  EXPECT_TRUE(contexts.open(kOther, 0, true));
}

TEST(UnitContexts, AnExclusiveOneWaitsForSharedOnesToClose) {
  UnitContexts contexts;
  EXPECT_TRUE(contexts.open(kOther, 0, true));
  EXPECT_FALSE(contexts.open(kOne, 0, false));
  EXPECT_TRUE(contexts.close(kOther, 0));
  EXPECT_TRUE(contexts.open(kOne, 0, false));
}

TEST(UnitContexts, OfOneHandleDoNotChangeTheirKind) {
  UnitContexts contexts;
  EXPECT_TRUE(contexts.open(kOne, 0, true));
  EXPECT_FALSE(contexts.open(kOne, 0, false));
  EXPECT_TRUE(contexts.open(kOne, 1, false));
  EXPECT_FALSE(contexts.open(kOne, 1, true));
  EXPECT_TRUE(contexts.open(kOne, 1, false));
}

TEST(UnitContexts, OfAForgottenHandleAreTold) {
  UnitContexts contexts;
  EXPECT_TRUE(contexts.open(kOne, 3, true));
  EXPECT_TRUE(contexts.open(kOne, 3, true));
  EXPECT_TRUE(contexts.open(kOne, 5, false));
  EXPECT_TRUE(contexts.open(kOther, 3, true));
  EXPECT_THAT(contexts.forget(kOne), ElementsAre(3u, 3u, 5u));
  EXPECT_THAT(contexts.forget(kOne), IsEmpty());
  EXPECT_TRUE(contexts.open(kOther, 5, false));
  EXPECT_TRUE(contexts.close(kOther, 3));
}

}  // namespace
}  // namespace tandem::emulation
