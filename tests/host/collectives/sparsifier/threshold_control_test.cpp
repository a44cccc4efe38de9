// SPDX-License-Identifier: Apache-2.0
//
// The threshold that all ranks share: what measurements of it change.
#include "collectives/sparsifier/threshold_control.h"

#include <gtest/gtest.h>

#include <cmath>

#include "host/collectives/api/groups.h"
#include "host/collectives/sparsifier/training.h"

namespace tandem::collectives::test {
namespace {

// Threshold, trend, slope.
std::vector<double> kept_by(const ThresholdControl& control) {
  SparsifierState state;
  control.save(state);
  return state.numbers.at("threshold");
}

// Measures these thresholds, one after another, on one rank.
ThresholdControl measured(const std::vector<double>& thresholds) {
  ThresholdControl control(false);
  run_groups(1, [&](Group& group) {
    StepResult result;
    StepContext context{group, 0, result};
    for (const double threshold : thresholds) {
      control.seed(context, threshold, plain_options(0.01).reduce);
    }
  });
  return control;
}

TEST(ThresholdControl, FollowsAThresholdThatGrowsAndOneThatFalls) {
  EXPECT_EQ(kept_by(measured({2})), (std::vector<double>{2, 0, 0}));
  const std::vector<double> grown = kept_by(measured({2, 2.1}));
  EXPECT_EQ(grown[0], 2.1);
  EXPECT_NEAR(grown[1], 0.5 * std::log(2.1 / 2), 1e-12);
  EXPECT_NEAR(kept_by(measured({2, 1.9}))[1], 0.5 * std::log(1.9 / 2), 1e-12);
}

TEST(ThresholdControl, AGradientOfZerosChangesNothing) {
  EXPECT_FALSE(measured({0}).seeded());
  EXPECT_EQ(kept_by(measured({2, 2.1, 0})), kept_by(measured({2, 2.1})));
}

}  // namespace
}  // namespace tandem::collectives::test
