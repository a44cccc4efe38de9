// SPDX-License-Identifier: Apache-2.0
//
// Which measurements a correction accepts, and when.
#include "engine/planning/correction.h"

#include <gtest/gtest.h>

namespace tandem::engine {
namespace {

TEST(Correction, FollowsSmallErrorsSlowly) {
  Correction correction;
  correction.learn(1e-3, 2e-3);
  EXPECT_DOUBLE_EQ(correction.factor(), 1.125);
  for (int i = 0; i < 60; ++i) correction.learn(1e-3 * correction.factor(), 2e-3);
  EXPECT_NEAR(correction.factor(), 2, 0.01);
}

TEST(Correction, OneShortAccidentChangesNothingAndTwoAreBelieved) {
  Correction correction;
  correction.learn(1e-3, 10e-3);
  EXPECT_DOUBLE_EQ(correction.factor(), 1);
  correction.learn(1e-3, 1e-3);
  correction.learn(1e-3, 10e-3);
  EXPECT_DOUBLE_EQ(correction.factor(), 1) << "the one before was as predicted";
  correction.learn(1e-3, 10e-3);
  EXPECT_DOUBLE_EQ(correction.factor(), 10);
  correction.learn(10e-3, 1e-3);
  correction.learn(10e-3, 100e-3);
  EXPECT_DOUBLE_EQ(correction.factor(), 100) << "long ones are no accident";
}

TEST(Correction, ALongTimeIsBelievedAtOnce) {
  Correction correction;
  correction.learn(0.01, 0.1);
  EXPECT_DOUBLE_EQ(correction.factor(), 10);
  correction.relax();
  EXPECT_NEAR(correction.factor(), 3.1623, 1e-4);
}

TEST(Correction, TimesThatAreNoneAndExtremesDoNoHarm) {
  Correction correction;
  correction.learn(0, 1);
  correction.learn(1, 0);
  correction.learn(1, -1);
  EXPECT_DOUBLE_EQ(correction.factor(), 1);
  for (int i = 0; i < 9; ++i) correction.learn(1e-9, 1);
  EXPECT_DOUBLE_EQ(correction.factor(), 1e4);
}

}  // namespace
}  // namespace tandem::engine
