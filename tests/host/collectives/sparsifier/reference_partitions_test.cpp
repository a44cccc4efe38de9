// SPDX-License-Identifier: Apache-2.0
//
// The sparsifiers whose ranks own partitions, and Ok-Topk's thresholds, against a naive reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/collectives/sparsifier/reference.h"

namespace tandem::collectives::test {
namespace {

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
