// SPDX-License-Identifier: Apache-2.0
//
// Learning rates against their closed forms.
#include "training/trainer/schedule.h"

#include <gtest/gtest.h>

#include "common/error.h"

namespace tandem::training {
namespace {

TEST(Schedule, RisesInEqualParts) {
  const Schedule schedule{2.0, 4, 100, RateDecay::kConstant, 0.1};
  EXPECT_DOUBLE_EQ(rate_of(schedule, 0), 0.5);
  EXPECT_DOUBLE_EQ(rate_of(schedule, 3), 2.0);
  EXPECT_DOUBLE_EQ(rate_of(schedule, 99), 2.0);
}

TEST(Schedule, IsConstantUnlessItIsToldToFall) {
  const Schedule schedule{.rate = 2.0, .steps = 100};
  EXPECT_DOUBLE_EQ(rate_of(schedule, 99), 2.0);
}

TEST(Schedule, FallsToItsLastShareAtTheLastStep) {
  for (const RateDecay decay : {RateDecay::kLinear, RateDecay::kCosine}) {
    const Schedule schedule{2.0, 10, 111, decay, 0.25};
    EXPECT_DOUBLE_EQ(rate_of(schedule, 10), 2.0);
    EXPECT_NEAR(rate_of(schedule, 60), 2.0 * (0.25 + 0.75 * 0.5), 1e-12);  // both are half way
    EXPECT_NEAR(rate_of(schedule, 110), 0.5, 1e-12);
  }
}

TEST(Schedule, ACosineIsAboveALineFirst) {
  const Schedule line{1.0, 0, 101, RateDecay::kLinear, 0},
      curve{1.0, 0, 101, RateDecay::kCosine, 0};
  EXPECT_NEAR(rate_of(line, 25), 0.75, 1e-12);
  EXPECT_NEAR(rate_of(curve, 25), 0.5 * (1 + 0.70710678118), 1e-9);
}

TEST(Schedule, OneStepHasTheWholeRate) {
  EXPECT_DOUBLE_EQ(rate_of({3.0, 0, 1, RateDecay::kCosine, 0.1}, 0), 3.0);
}

TEST(Schedule, NamesWhatIsOutOfRange) {
  EXPECT_THROW(check_schedule({0.0, 0, 1, RateDecay::kCosine, 0.1}), Error);
  EXPECT_THROW(check_schedule({1.0, 0, 1, RateDecay::kCosine, 1.5}), Error);
  EXPECT_NO_THROW(check_schedule({1.0, 0, 1, RateDecay::kCosine, 1.0}));
  EXPECT_EQ(rate_decay_named("linear"), RateDecay::kLinear);
  EXPECT_THROW(rate_decay_named("steps"), Error);
}

}  // namespace
}  // namespace tandem::training
