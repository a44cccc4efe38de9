// SPDX-License-Identifier: Apache-2.0
//
// Every sparsifier against a naive reference in f64 that sorts everything.
//
// The reference holds the accumulated gradients of all ranks and asks a rule which indices each
// rank selects. Gradients are multiples of 1/256, so f32 and f64 agree exactly where nothing is
// divided.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "collectives/sparsifier/sidco_fits.h"
#include "host/collectives/sparsifier/training.h"

namespace tandem::collectives::test {
namespace {

using Reals = std::vector<double>;
using Places = std::set<std::uint32_t>;
constexpr int kRanks = 4;
constexpr std::uint64_t kValues = 1000;
constexpr std::uint64_t kTarget = 50;  // at density 0.05

// What the ranks select of their accumulated gradients in a step.
struct Step {
  std::uint64_t step;
  std::vector<Reals> accumulated;  // [ranks, values]
};
using Rule = std::function<std::vector<Places>(const Step&)>;

// Magnitudes in descending order.
Reals sorted_magnitudes(const Reals& values) {
  Reals magnitudes(values.size());
  std::ranges::transform(values, magnitudes.begin(), [](double x) { return std::fabs(x); });
  std::ranges::sort(magnitudes, std::greater<>());
  return magnitudes;
}

Places largest(const Reals& values, std::size_t count, std::uint32_t begin = 0,
               std::uint32_t end = kValues) {
  std::vector<std::uint32_t> order(end - begin);
  std::iota(order.begin(), order.end(), begin);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return std::fabs(values[a]) > std::fabs(values[b]);
  });
  order.resize(std::min(count, order.size()));
  return {order.begin(), order.end()};
}

Places at_least(const Reals& values, double threshold, std::uint32_t begin = 0,
                std::uint32_t end = kValues) {
  Places places;
  for (std::uint32_t i = begin; i < end; ++i) {
    if (std::fabs(values[i]) >= threshold) places.insert(i);
  }
  return places;
}

double mean_magnitude(const Reals& values) {
  double sum = 0;
  for (const double value : values) sum += std::fabs(value);
  return sum / static_cast<double>(values.size());
}

std::vector<Places> each_rank(const Step& step, const std::function<Places(const Reals&)>& select) {
  std::vector<Places> selected;
  for (const Reals& values : step.accumulated) selected.push_back(select(values));
  return selected;
}

Places union_of(const std::vector<Places>& selected) {
  Places all;
  for (const Places& places : selected) all.insert(places.begin(), places.end());
  return all;
}

// One step by the book; returns the mean.
std::map<std::uint32_t, double> naive_step(ClearingRule rule, const std::vector<Places>& selected,
                                           std::vector<Reals>& accumulated) {
  const Places all = union_of(selected);
  std::map<std::uint32_t, double> mean;
  for (const std::uint32_t index : all) {
    double sum = 0;
    for (std::size_t rank = 0; rank < accumulated.size(); ++rank) {
      if (rule == ClearingRule::kOwn && !selected[rank].contains(index)) continue;
      sum += accumulated[rank][index];
      accumulated[rank][index] = 0;
    }
    mean[index] = sum / static_cast<double>(accumulated.size());
  }
  return mean;
}

// A scheme may leave out an index where values cancel.
void expect_step_is(const StepResult& step, std::map<std::uint32_t, double> mean) {
  const auto indices = indices_of(step.mean);
  const auto values = values_of(step.mean);
  std::erase_if(mean, [&](const auto& entry) {
    return entry.second == 0 && !std::ranges::binary_search(indices, entry.first);
  });
  ASSERT_EQ(indices.size(), mean.size());
  std::size_t at = 0;
  for (const auto& [index, value] : mean) {
    ASSERT_EQ(indices[at], index);
    ASSERT_EQ(values[at++], static_cast<float>(value)) << "index " << index;
  }
}

Training four_ranks(const std::string& name, std::uint64_t steps = 20) {
  Training training;
  training.name = name;
  training.num_values = kValues;
  training.world = kRanks;
  training.steps = steps;
  training.options = plain_options(static_cast<double>(kTarget) / kValues);
  training.gradient = training_gradients(kValues);
  return training;
}

void expect_as_reference(const Training& training, ClearingRule clearing, const Rule& rule) {
  const auto ranks = train(training);
  Step now{0, std::vector<Reals>(kRanks, Reals(kValues))};
  for (now.step = 0; now.step < training.steps; ++now.step) {
    for (int rank = 0; rank < kRanks; ++rank) {
      const Gradient gradient = training.gradient(rank, now.step);
      Reals& sum = now.accumulated[static_cast<std::size_t>(rank)];
      for (std::size_t i = 0; i < kValues; ++i) sum[i] += gradient[i];
    }
    const std::vector<Places> selected = rule(now);
    const auto mean = naive_step(clearing, selected, now.accumulated);
    for (const RankHistory& rank : ranks) {
      ASSERT_EQ(rank.error, "");
      expect_step_is(rank.steps[now.step], mean);
      if (testing::Test::HasFatalFailure()) FAIL() << training.name << " step " << now.step;
    }
  }
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const Reals& residual = now.accumulated[rank];
    EXPECT_EQ(ranks[rank].residual, std::vector<float>(residual.begin(), residual.end()));
  }
}

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

// Selects from partition [bounds[p], bounds[p + 1]) with p = (step + rank) mod n.
std::vector<Places> of_partitions(const Step& step, const std::vector<std::uint32_t>& bounds,
                                  double threshold) {
  std::vector<Places> selected;
  for (std::uint64_t rank = 0; rank < kRanks; ++rank) {
    const std::size_t part = (step.step + rank) % kRanks;
    const Reals& values = step.accumulated[rank];
    Places found = at_least(values, threshold, bounds[part], bounds[part + 1]);
    if (found.empty()) found = largest(values, 1, bounds[part], bounds[part + 1]);
    selected.push_back(std::move(found));
  }
  return selected;
}

double seeded_threshold(const Step& step) {
  double sum = 0;
  for (const Reals& values : step.accumulated) sum += sorted_magnitudes(values)[kTarget - 1];
  return sum / kRanks;
}

double published_factor(double ratio) {
  if (ratio > 1.1) return 1.005;
  if (ratio > 1) return 1.00125;
  return ratio > 1 / 1.1 ? 0.9987 : 0.995;
}

TEST(SparsifierReference, MicroRotatesPartitionsAndScalesTheThresholdAsPublished) {
  Training training = four_ranks("micro", 40);
  training.options.published_control = true;
  double threshold = 0;
  expect_as_reference(training, ClearingRule::kAllGlobal, [&](const Step& step) {
    if (step.step == 0) threshold = seeded_threshold(step);
    const auto selected = of_partitions(step, {0, 250, 500, 750, 1000}, threshold);
    threshold *= published_factor(static_cast<double>(union_of(selected).size()) / kTarget);
    return selected;
  });
}

TEST(SparsifierReference, ExdynaMovesBlocksTowardsEqualCounts) {
  Training training = four_ranks("exdyna", 40);
  training.options.published_control = true;
  double threshold = 0;
  constexpr std::uint32_t kBlock = 31;  // 1,000 / 32, the last partition has the remainder
  std::vector<std::uint32_t> blocks{0, 8, 16, 24, 32};
  expect_as_reference(training, ClearingRule::kAllGlobal, [&](const Step& step) {
    if (step.step == 0) threshold = seeded_threshold(step);
    std::vector<std::uint32_t> bounds;
    for (const std::uint32_t block : blocks) bounds.push_back(block * kBlock);
    bounds.back() = kValues;
    const auto selected = of_partitions(step, bounds, threshold);
    Reals counts(kRanks);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      counts[(step.step + rank) % kRanks] = static_cast<double>(selected[rank].size());
    }
    const double total = std::accumulate(counts.begin(), counts.end(), 0.0), mean = total / kRanks;
    threshold *= published_factor(total / kTarget);
    for (std::size_t i = 0; i + 1 < kRanks; ++i) {
      const double a = counts[i] / mean, b = counts[i + 1] / mean;
      int move = a > 1.05 && b < 1 / 1.05 ? 1 : b > 1.05 && a < 1 / 1.05 ? -1 : 0;
      const std::size_t giver = move == 1 ? i : i + 1;
      if (blocks[giver + 1] - blocks[giver] <= 2) move = 0;  // 32 / (4 n)
      blocks[i + 1] -= static_cast<std::uint32_t>(move);
      counts[i] -= move * 0.05 * kBlock;
      counts[i + 1] += move * 0.05 * kBlock;
    }
    return selected;
  });
  EXPECT_NE(blocks, (std::vector<std::uint32_t>{0, 8, 16, 24, 32}));
}

// Layers 600, 300, 90 and 10: the first two are cut into four, as n = 4 and 1000 / 4 = 250.
TEST(SparsifierReference, DeftSharesEntriesByNormAndWorkByCost) {
  Training training = four_ranks("deft");
  training.options.layer_sizes = {600, 300, 90, 10};
  const std::vector<std::uint32_t> bounds{0, 150, 300, 450, 600, 675, 750, 825, 900, 990, 1000};
  expect_as_reference(training, ClearingRule::kAllGlobal, [&](const Step& step) {
    const std::size_t n = bounds.size() - 1;
    Reals norms(n), costs(n);
    for (std::size_t f = 0; f < n; ++f) {
      for (const Reals& values : step.accumulated) {
        for (std::uint32_t i = bounds[f]; i < bounds[f + 1]; ++i) norms[f] += values[i] * values[i];
      }
      norms[f] = std::sqrt(norms[f]);
    }
    const auto descending = [&](const Reals& keys) {
      std::vector<std::size_t> order(n);
      std::iota(order.begin(), order.end(), 0u);
      std::ranges::stable_sort(order,
                               [&](std::size_t a, std::size_t b) { return keys[a] > keys[b]; });
      return order;
    };
    double left = kTarget, norms_left = std::accumulate(norms.begin(), norms.end(), 0.0);
    std::vector<double> entries(n);
    for (const std::size_t f : descending(norms)) {
      const double size = bounds[f + 1] - bounds[f];
      entries[f] = std::clamp(std::round(left * norms[f] / norms_left), 1.0, size);
      left = std::max(0.0, left - entries[f]);
      norms_left -= norms[f];
      costs[f] = size * std::log2(1 + entries[f]);
    }
    Reals loads(kRanks);
    std::vector<Places> selected(kRanks);
    for (const std::size_t f : descending(costs)) {
      const auto bin = static_cast<std::size_t>(std::ranges::min_element(loads) - loads.begin());
      loads[bin] += costs[f];
      const std::size_t rank = (bin + kRanks - step.step % kRanks) % kRanks;
      const Places found = largest(step.accumulated[rank], static_cast<std::size_t>(entries[f]),
                                   bounds[f], bounds[f + 1]);
      selected[rank].insert(found.begin(), found.end());
    }
    EXPECT_EQ(union_of(selected).size(), kTarget) << "the entries add up to k";
    return selected;
  });
}

TEST(SparsifierReference, OkTopkKeepsWhatReachesTheGlobalThresholdAndClearsBoth) {
  Training training = four_ranks("ok_topk", 12);
  training.options.threshold_steps = 4;
  const auto ranks = train(training);
  std::vector<Reals> residual(kRanks, Reals(kValues));
  Reals local(kRanks);
  double global = 0;
  for (std::uint64_t step = 0; step < training.steps; ++step) {
    Reals sum(kValues);
    std::vector<Places> selected;
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      const Gradient gradient = training.gradient(static_cast<int>(rank), step);
      for (std::size_t i = 0; i < kValues; ++i) residual[rank][i] += gradient[i];
      if (step % 4 == 0) local[rank] = sorted_magnitudes(residual[rank])[kTarget - 1];
      selected.push_back(at_least(residual[rank], local[rank]));
      for (const std::uint32_t i : selected.back()) sum[i] += residual[rank][i] / kRanks;
    }
    if (step % 4 == 0) global = sorted_magnitudes(sum)[kTarget - 1];
    std::map<std::uint32_t, double> mean;
    for (const std::uint32_t index : union_of(selected)) {
      if (std::fabs(sum[index]) >= global) mean[index] = sum[index];
    }
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      for (const std::uint32_t index : selected[rank]) {
        if (mean.contains(index)) residual[rank][index] = 0;
      }
      expect_step_is(ranks[rank].steps[step], mean);
      ASSERT_EQ(ranks[rank].residuals[step],
                std::vector<float>(residual[rank].begin(), residual[rank].end()));
    }
  }
}

}  // namespace
}  // namespace tandem::collectives::test
