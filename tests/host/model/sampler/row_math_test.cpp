// SPDX-License-Identifier: Apache-2.0
//
// Passes over logits against plain loops, for every length around the vectors' and hostile values.
#include "model/sampler/row_math.h"
#include "host/model/sampler/infinity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tandem::model {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

std::vector<float> row(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 6.0f);
  std::vector<float> logits(size);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

constexpr std::size_t kSizes[] = {1, 2, 7, 8, 15, 16, 17, 33, 255, 256, 257, 1000, 4099};

TEST(RowMath, FindsTheBestWhereverItStands) {
  for (const std::size_t size : kSizes) {
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      auto logits = row(size, 1);
      logits[at] = 100.0f;
      EXPECT_EQ(best_logit(logits), 100.0f);
      EXPECT_EQ(first_equal(logits, 100.0f), at);
      logits.back() = 100.0f;
      EXPECT_EQ(first_equal(logits, 100.0f), at) << "the lowest of equals";
    }
  }
}

TEST(RowMath, TakesNanForTheLowestAndInfinityForTheLargest) {
  for (const std::size_t size : {3u, 40u}) {
    std::vector<float> logits(size, std::nanf(""));
    EXPECT_EQ(best_logit(logits), -kInfinity);
    logits[size - 1] = -5.0f;
    EXPECT_EQ(best_logit(logits), -5.0f);
    logits[1] = kInfinity;
    EXPECT_EQ(best_logit(logits), kLargest);
    EXPECT_EQ(first_equal(logits, kLargest), 1u);
    clean_logits(logits, logits.data());
    EXPECT_EQ(logits[0], -kInfinity);
    EXPECT_EQ(logits[1], kLargest);
    EXPECT_EQ(logits[size - 1], -5.0f);
  }
}

TEST(RowMath, SumsExponentials) {
  for (const std::size_t size : kSizes) {
    const auto logits = row(size, 2);
    const float best = *std::max_element(logits.begin(), logits.end());
    std::vector<float> weights(size);
    exponentials(logits, best, 0.5f, weights.data());
    double sum = 0, of_weights = 0;
    for (std::size_t i = 0; i < size; ++i) {
      sum += std::exp(static_cast<double>(logits[i]) - best);
      const double weight = std::exp((static_cast<double>(logits[i]) - best) * 0.5);
      EXPECT_NEAR(weights[i], weight, 2e-6 * weight);
      of_weights += weights[i];
    }
    EXPECT_NEAR(sum_of_exponentials(logits, best), sum, 1e-6 * sum);
    EXPECT_NEAR(sum_of(weights), of_weights, 1e-6 * of_weights);
  }
}

TEST(RowMath, GivesWhatCannotBeDrawnNoWeight) {
  for (const std::size_t size : {5u, 64u}) {
    std::vector<float> logits(size, -kInfinity), weights(size, 1.0f);
    logits[0] = 3.0f;
    logits[1] = std::nanf("");
    logits[2] = -200.0f;
    exponentials(logits, 3.0f, 1.0f, weights.data());
    EXPECT_EQ(weights[0], 1.0f);
    for (std::size_t i = 1; i < size; ++i) EXPECT_EQ(weights[i], 0.0f);
    EXPECT_EQ(sum_of_exponentials(logits, 3.0f), 1.0);
  }
}

}  // namespace
}  // namespace tandem::model
