// SPDX-License-Identifier: Apache-2.0
//
// The sparsifiers whose ranks select from everything, against a naive reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/collectives/sparsifier/reference.h"

namespace tandem::collectives::test {
namespace {

TEST(SparsifierReference, TopkSendsAllRanksValuesAtTheUnion) {
  expect_as_reference(four_ranks("topk"), ClearingRule::kAllGlobal, [](const Step& step) {
    return each_rank(step, [](const Reals& values) { return largest(values, kTarget); });
  });
}

TEST(SparsifierReference, TopkOfOwnEntriesSendsAndClearsThoseOnly) {
  Training training = four_ranks("topk");
  training.options.only_own_entries = true;
  expect_as_reference(training, ClearingRule::kOwn, [](const Step& step) {
    return each_rank(step, [](const Reals& values) { return largest(values, kTarget); });
  });
}

TEST(SparsifierReference, CltkTakesTheLeadersChoice) {
  expect_as_reference(four_ranks("cltk"), ClearingRule::kAllGlobal, [](const Step& step) {
    std::vector<Places> selected(kRanks);
    const std::size_t leader = step.step % kRanks;
    selected[leader] = largest(step.accumulated[leader], kTarget);
    return selected;
  });
}

TEST(SparsifierReference, HardThresholdSendsWhatReachesLambda) {
  Training training = four_ranks("hard_threshold");
  for (const double lambda : {0.0, 4.0}) {
    training.options.hard_threshold = lambda;
    const double least = lambda > 0 ? lambda : 0.5 / std::sqrt(static_cast<double>(kTarget));
    expect_as_reference(training, ClearingRule::kOwn, [&](const Step& step) {
      return each_rank(step, [&](const Reals& values) { return at_least(values, least); });
    });
  }
}

TEST(SparsifierReference, RandomkDrawsEqualPlacesOnAllRanksAndOthersInEveryStep) {
  const auto ranks = train(four_ranks("randomk"));
  Places seen;
  for (const StepResult& step : ranks[0].steps) {
    const auto indices = indices_of(step.mean);
    EXPECT_EQ(indices.size(), kTarget);
    seen.insert(indices.begin(), indices.end());
  }
  EXPECT_GT(seen.size(), 500u);  // 20 draws of 50 of 1,000 cover 640 on average
  expect_as_reference(four_ranks("randomk"), ClearingRule::kAllGlobal, [&](const Step& step) {
    const auto indices = indices_of(ranks[0].steps[step.step].mean);
    return std::vector<Places>(kRanks, Places(indices.begin(), indices.end()));
  });
}

// A small tensor is its own sample: the k-th largest magnitude, and all that tie with it.
TEST(SparsifierReference, DgcWithoutMomentumSendsWhatReachesTheSampledThreshold) {
  expect_as_reference(four_ranks("dgc"), ClearingRule::kOwn, [](const Step& step) {
    return each_rank(step, [](const Reals& values) {
      const double threshold = sorted_magnitudes(values)[kTarget - 1];
      const Places found = at_least(values, threshold);
      return static_cast<double>(found.size()) > 1.3 * kTarget ? largest(values, kTarget) : found;
    });
  });
}

TEST(SparsifierReference, SidcoFollowsItsFitsAndStages) {
  std::vector<int> stages(kRanks, 1);
  Reals ratios(kRanks, 0);
  bool changed = false;
  const auto select = [&](const Reals& values, std::size_t rank) {
    Reals left = sorted_magnitudes(values);
    const double tail = stages[rank] == 1 ? 0.05 : 0.25;
    double threshold = -mean_magnitude(left) * std::log(tail);
    for (int stage = 1; stage < stages[rank]; ++stage) {
      std::erase_if(left, [&](double x) { return x < threshold; });
      const double next = std::pow(0.05 / 0.25, 1.0 / (stages[rank] - 1));
      threshold = left.back() - (mean_magnitude(left) - left.back()) * std::log(next);
    }
    const Places found = at_least(values, threshold);
    ratios[rank] += static_cast<double>(found.size()) / kTarget / 5;
    return found;
  };
  expect_as_reference(four_ranks("sidco", 40), ClearingRule::kOwn, [&](const Step& step) {
    std::vector<Places> selected;
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      selected.push_back(select(step.accumulated[rank], rank));
      if (step.step % 5 != 4) continue;
      const int before = stages[rank];
      stages[rank] += ratios[rank] > 1.2 ? -1 : ratios[rank] < 0.8 ? 1 : 0;
      stages[rank] = std::clamp(stages[rank], 1, 5);  // ceil(ln 0.05 / ln 0.5) = 5
      changed = changed || stages[rank] != before;
      ratios[rank] = 0;
    }
    return selected;
  });
  EXPECT_TRUE(changed) << "the gradients must lead to another number of stages";
}

TEST(SparsifierReference, GaussiankCorrectsTheNormalQuantileThreeTimes) {
  expect_as_reference(four_ranks("gaussiank"), ClearingRule::kOwn, [](const Step& step) {
    return each_rank(step, [](const Reals& values) {
      double sum = 0, squares = 0;
      for (const double value : values) sum += value, squares += value * value;
      const double mean = sum / kValues;
      double threshold = mean + 1.9599639845400545 * std::sqrt(squares / kValues - mean * mean);
      for (int round = 0; round < 3; ++round) {
        const auto count = static_cast<double>(at_least(values, threshold).size());
        if (count >= 2.0 * kTarget / 3 && count <= 4.0 * kTarget / 3) break;
        threshold *= count < 2.0 * kTarget / 3 ? 0.5 : 1.5;
      }
      return at_least(values, threshold);
    });
  });
}

TEST(SparsifierReference, RedsyncBisectsBetweenMeanAndLargest) {
  expect_as_reference(four_ranks("redsync"), ClearingRule::kOwn, [](const Step& step) {
    return each_rank(step, [](const Reals& values) {
      const double mean = mean_magnitude(values), most = sorted_magnitudes(values).front();
      double low = 0, high = 1;
      for (int i = 0; i < 20; ++i) {
        const double ratio = (low + high) / 2;
        const Places found = at_least(values, mean + ratio * (most - mean));
        if (found.size() >= kTarget && found.size() < 2 * kTarget) return found;
        (found.size() < kTarget ? high : low) = ratio;
      }
      return largest(values, kTarget);
    });
  });
}

}  // namespace
}  // namespace tandem::collectives::test
