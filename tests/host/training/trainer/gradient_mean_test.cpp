// SPDX-License-Identifier: Apache-2.0
//
// Means over ranks that are threads, and the choice of `--reduce auto`.
#include "training/trainer/gradient_mean.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/ranks.h"

namespace tandem::training {
namespace {

std::vector<ParameterSpec> specs() { return {{"table", {64, 8}, 0, 0}, {"bias", {4}, 0, 0}}; }

void set(ParameterSet& parameters, float value) {
  for (std::size_t parameter = 0; parameter < parameters.size(); ++parameter) {
    for (float& gradient : parameters.gradient(parameter)) gradient = value;
  }
}

TEST(GradientMean, OneRankKeepsItsGradients) {
  ParameterSet parameters(specs());
  GradientMean mean(nullptr, parameters, {.choice = parse_reduce("auto")});
  set(parameters, 3);
  mean.ready(1);
  mean.ready(0);
  GradientMean::Numbers numbers = {5, 0};
  mean.finish(numbers);
  EXPECT_EQ(parameters.gradient(0)[7], 3);
  EXPECT_EQ(numbers[0], 5);
  EXPECT_EQ(mean.figures().bytes_sent, 0u);
}

TEST(GradientMean, NumbersAndGradientsAreMeansOverRanks) {
  test::run_ranks(4, [](std::unique_ptr<transport::Transport> transport) {
    collectives::Group group(std::move(transport));
    ParameterSet parameters(specs());
    GradientMean mean(&group, parameters, {});
    for (int step = 0; step < 3; ++step) {
      set(parameters, static_cast<float>(group.rank()));
      mean.ready(1);
      mean.ready(0);
      GradientMean::Numbers numbers = {static_cast<float>(group.rank() * 2),
                                       group.rank() == 3 ? 1.0f : 0.0f};
      mean.finish(numbers);
      EXPECT_EQ(numbers[0], 3);
      EXPECT_EQ(numbers[1], 0.25f);
      EXPECT_EQ(mean.gradient(0)[511], 1.5f);
      EXPECT_EQ(mean.gradient(1)[3], 1.5f);
      const ReduceFigures figures = mean.figures();
      EXPECT_EQ(figures.density_sent, 1);
      EXPECT_GT(figures.bytes_sent, 0u);
    }
    EXPECT_EQ(mean.figures().bytes_sent, 0u);  // since the last reading
  });
}

// For 0.3 / density steps from a density of 0.01 on; a number that is given is obeyed, gradients
// have none.
TEST(GradientMean, DirectionsOfANamedSparsifierBeginDense) {
  test::run_ranks(2, [&](std::unique_ptr<transport::Transport> transport) {
    collectives::Group group(std::move(transport));
    const auto dense_steps = [&](const ReduceOptions& options) {
      ParameterSet parameters(specs());
      GradientMean mean(&group, parameters, options);
      int dense = 0;
      for (int step = 0; step < 9; ++step) {
        float value = 0;
        for (float& gradient : parameters.gradient(0)) gradient = std::sin(value += 1.7f);
        mean.ready(1);
        mean.ready(0);
        GradientMean::Numbers numbers{};
        mean.finish(numbers);
        dense += mean.figures().density_sent == 1 ? 1 : 0;
      }
      return dense;
    };
    const ReduceChoice choice = parse_reduce("exdyna@0.05");
    EXPECT_EQ(dense_steps({.choice = choice, .dense_below = 64}), 6);
    EXPECT_EQ(dense_steps({.choice = choice, .dense_below = 64, .warmup_steps = 2}), 2);
    EXPECT_EQ(dense_steps({.choice = choice, .steps = false, .dense_below = 64}), 0);
    EXPECT_EQ(dense_steps({.choice = parse_reduce("exdyna@0.01"), .dense_below = 64}), 9);
    EXPECT_EQ(dense_steps({.choice = parse_reduce("exdyna@0.009"), .dense_below = 64}), 0);
  });
}

// Also behind a state that was restored: the outcome of a trial is part of it.
TEST(GradientMean, AutoIsTheReducersTrialOfDenseAndSparseSteps) {
  test::run_ranks(2, [&](std::unique_ptr<transport::Transport> transport) {
    collectives::Group group(std::move(transport));
    ParameterSet parameters(specs());
    GradientMean mean(&group, parameters, {.choice = parse_reduce("auto"), .dense_below = 64});
    float value = 0;
    const auto sparsifies = [&] {
      for (float& gradient : parameters.gradient(0)) gradient = std::sin(value += 1.7f);
      mean.ready(1);
      mean.ready(0);
      GradientMean::Numbers numbers{};
      mean.finish(numbers);
      return mean.figures().density_sent < 1;
    };
    for (int step = 0; step < 18; ++step) EXPECT_EQ(sparsifies(), step % 2 == 1) << step;
    const bool outcome = sparsifies();
    const ReduceState state = mean.state();
    mean.restore(state);
    for (int step = 0; step < 4; ++step) EXPECT_EQ(sparsifies(), outcome) << step;
  });
}

}  // namespace
}  // namespace tandem::training
