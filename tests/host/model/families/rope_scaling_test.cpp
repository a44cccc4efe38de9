// SPDX-License-Identifier: Apache-2.0
//
// RoPE frequencies against closed forms.
#include "model/families/rope_scaling.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

namespace tandem::model {
namespace {

TEST(RopeScaling, UnscaledFrequenciesAreThePowersOfTheBase) {
  const RopeConfig rope = scaled_rope({.num_dims = 8, .base = 10000.0f});
  EXPECT_THAT(rope.inverse_frequencies, testing::ElementsAre(1.0f, 0.1f, 0.01f, 0.001f));
  EXPECT_EQ(rope.magnitude, 1.0f);
  EXPECT_TRUE(rope.interleaved);
}

TEST(RopeScaling, LinearScalingDividesEveryFrequency) {
  const RopeConfig rope =
      scaled_rope({.kind = RopeScaling::kLinear, .num_dims = 8, .base = 10000.0f, .factor = 4.0f});
  EXPECT_THAT(rope.inverse_frequencies, testing::ElementsAre(0.25f, 0.025f, 0.0025f, 0.00025f));
  EXPECT_EQ(rope.magnitude, 1.0f);
}

TEST(RopeScaling, DivisorsOfTheFileApplyToEachFrequency) {
  const RopeConfig rope =
      scaled_rope({.num_dims = 8, .base = 10000.0f, .divisors = {1.0f, 2.0f, 4.0f, 8.0f}});
  EXPECT_THAT(rope.inverse_frequencies,
              testing::ElementsAre(1.0f, 0.05f, 0.0025f, testing::FloatEq(0.000125f)));
}

// Formulas of the paper: the ramp runs between the dimensions that turn beta_fast and beta_slow
// times over the original context.
TEST(RopeScaling, YarnKeepsFastDimensionsAndInterpolatesSlowOnes) {
  const int dims = 128, context = 4096;
  const double base = 10000.0, factor = 16.0;
  const RopeConfig rope = scaled_rope({.kind = RopeScaling::kYarn,
                                       .num_dims = dims,
                                       .base = 10000.0f,
                                       .factor = 16.0f,
                                       .original_context = context});
  const auto dimension = [&](double turns) {
    return dims * std::log(context / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
  };
  const double low = std::floor(dimension(32)), high = std::ceil(dimension(1));
  ASSERT_EQ(low, 20);
  ASSERT_EQ(high, 46);
  for (int pair = 0; pair < dims / 2; ++pair) {
    const double plain = std::pow(base, -2.0 * pair / dims);
    double expected = plain;
    if (pair >= high) {
      expected = plain / factor;
    } else if (pair > low) {
      const double ramp = (pair - low) / (high - low);
      expected = plain / factor * ramp + plain * (1 - ramp);
    }
    EXPECT_NEAR(rope.inverse_frequencies[static_cast<std::size_t>(pair)] / expected, 1.0, 1e-6);
  }
  EXPECT_FLOAT_EQ(rope.magnitude, static_cast<float>(0.1 * std::log(16.0) + 1.0));
}

// 32 turns do not fit a context of 100 tokens even at the fastest pair.
TEST(RopeScaling, YarnKeepsTheFastestPairWhereTheContextIsShort) {
  const RopeConfig rope = scaled_rope({.kind = RopeScaling::kYarn,
                                       .num_dims = 64,
                                       .base = 10000.0f,
                                       .factor = 16.0f,
                                       .original_context = 100});
  EXPECT_FLOAT_EQ(rope.inverse_frequencies[0], 1.0f);
  EXPECT_LT(rope.inverse_frequencies[1], std::pow(10000.0f, -2.0f / 64));
}

TEST(RopeScaling, YarnWithFactorOneChangesNothing) {
  const RopeConfig rope = scaled_rope({.kind = RopeScaling::kYarn,
                                       .num_dims = 64,
                                       .base = 500000.0f,
                                       .factor = 1.0f,
                                       .original_context = 8192});
  const RopeConfig plain = scaled_rope({.num_dims = 64, .base = 500000.0f});
  for (std::size_t i = 0; i < plain.inverse_frequencies.size(); ++i) {
    EXPECT_FLOAT_EQ(rope.inverse_frequencies[i], plain.inverse_frequencies[i]);
  }
  EXPECT_EQ(rope.magnitude, 1.0f);
}

}  // namespace
}  // namespace tandem::model
