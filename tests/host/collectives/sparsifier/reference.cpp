// SPDX-License-Identifier: Apache-2.0
//
// One step by the book, and its comparison with what the ranks did.
#include "host/collectives/sparsifier/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tandem::collectives::test {

Reals sorted_magnitudes(const Reals& values) {
  Reals magnitudes(values.size());
  std::ranges::transform(values, magnitudes.begin(), [](double x) { return std::fabs(x); });
  std::ranges::sort(magnitudes, std::greater<>());
  return magnitudes;
}

Places largest(const Reals& values, std::size_t count, std::uint32_t begin, std::uint32_t end) {
  std::vector<std::uint32_t> order(end - begin);
  std::iota(order.begin(), order.end(), begin);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return std::fabs(values[a]) > std::fabs(values[b]);
  });
  order.resize(std::min(count, order.size()));
  return {order.begin(), order.end()};
}

Places at_least(const Reals& values, double threshold, std::uint32_t begin, std::uint32_t end) {
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

namespace {

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

}  // namespace

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

Training four_ranks(const std::string& name, std::uint64_t steps) {
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

}  // namespace tandem::collectives::test
