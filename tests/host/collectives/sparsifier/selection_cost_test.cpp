// SPDX-License-Identifier: Apache-2.0
//
// What selections read, counted in values: exclusive ones 1 / n of the gradient each.
#include <gtest/gtest.h>

#include <algorithm>

#include "host/collectives/sparsifier/training.h"

namespace tandem::collectives::test {
namespace {

constexpr std::uint64_t kSize = 64'000;

// As large everywhere.
Gradient even_gradient(int rank, std::uint64_t step) {
  Gradient gradient = training_gradient(kSize, rank, step);
  for (std::uint64_t i = 0; i < kSize; ++i) gradient[i] /= static_cast<float>(1 + 8 * i / kSize);
  return gradient;
}

// Of each rank in the last step, behind those that measure the threshold of micro and exdyna.
std::vector<std::uint64_t> values_read(const std::string& name, int world,
                                       const GradientOf& gradient = even_gradient) {
  Training run;
  run.name = name;
  run.num_values = kSize;
  run.world = world;
  run.steps = 26;
  run.options = plain_options(0.01);
  run.options.layer_sizes.assign(16, kSize / 16);
  run.keep_residuals = false;
  run.gradient = gradient;
  std::vector<std::uint64_t> read;
  for (const RankHistory& rank : train(run)) {
    EXPECT_EQ(rank.error, "");
    read.push_back(rank.steps.back().values_read);
  }
  return read;
}

TEST(SelectionCost, ExclusiveSelectorsReadTheirOwnPartAndNoMore) {
  for (const std::string name : {"micro", "deft"}) {
    for (const int world : {1, 2, 4, 8}) {
      for (const std::uint64_t read : values_read(name, world)) {
        EXPECT_EQ(read, kSize / static_cast<std::uint64_t>(world)) << name << " of " << world;
      }
    }
  }
}

TEST(SelectionCost, BalancedPartitionsAreReadOnceTogether) {
  for (const int world : {1, 2, 4, 8}) {
    const auto read = values_read("exdyna", world);
    std::uint64_t total = 0;
    for (const std::uint64_t values : read) total += values;
    EXPECT_EQ(total, kSize) << world;
    EXPECT_LT(*std::ranges::max_element(read), 2 * kSize / static_cast<std::uint64_t>(world) + 1);
  }
}

TEST(SelectionCost, APartThatNothingReachesIsReadTwice) {
  const GradientOf skewed = [](int, std::uint64_t) {
    Gradient gradient(kSize, 0.0f);
    for (std::uint64_t i = 0; i < kSize / 2; ++i) gradient[i] = static_cast<float>(1 + i % 100);
    return gradient;
  };
  const auto read = values_read("micro", 2, skewed);
  EXPECT_EQ(*std::ranges::min_element(read), kSize / 2);
  EXPECT_EQ(*std::ranges::max_element(read), kSize + kSize / 2 / 4) << "and a sample of it";
}

TEST(SelectionCost, ThresholdsReadTheGradientOnce) {
  for (const std::string name : {"hard_threshold", "ok_topk"}) {
    EXPECT_EQ(values_read(name, 1).front(), kSize) << name;
  }
  // A sample besides, of at most 65,536 values: here of a quarter of them.
  for (const std::string name : {"topk", "redsync", "gaussiank"}) {
    const std::uint64_t read = values_read(name, 1).front();
    EXPECT_GT(read, kSize) << name;
    EXPECT_LE(read, kSize + kSize / 4) << name;
  }
  EXPECT_LE(values_read("dgc", 1).front(), kSize + kSize / 100 + 1);
  EXPECT_EQ(values_read("sidco", 1).front(), kSize);
  EXPECT_EQ(values_read("randomk", 2).front(), 0u);
}

}  // namespace
}  // namespace tandem::collectives::test
