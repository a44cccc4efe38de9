// SPDX-License-Identifier: Apache-2.0
//
// The loops over gradients and the candidates, against plain loops.
#include "collectives/sparsifier/selection_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "collectives/sparsifier/candidates.h"
#include "collectives/sparsifier/magnitude_rank.h"
#include "common/thread_pool.h"
#include "host/collectives/sparsifier/training.h"

namespace tandem::collectives::test {
namespace {

std::vector<std::uint32_t> naive_at_least(const std::vector<float>& values, float threshold) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    if (std::fabs(values[i]) >= threshold) found.push_back(i);
  }
  return found;
}

std::vector<std::uint32_t> naive_top(const std::vector<float>& values, std::size_t count) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::fabs(values[a]) > std::fabs(values[b]);
  });
  order.resize(std::min(count, order.size()));
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<std::uint32_t> plain(const Indices& indices) {
  return {indices.begin(), indices.end()};
}

TEST(SelectionKernels, FindLargeFindsWhatAPlainLoopFindsAtAnyLength) {
  for (std::size_t count = 0; count < 200; ++count) {
    const Gradient values = training_gradient(count, 0, count);
    for (const float threshold : {0.0f, 0.5f, 2.0f, 100.0f}) {
      std::vector<std::uint32_t> found(count + kSelectionSlack);
      found.resize(find_large(values.data(), count, threshold, 0, found.data()));
      ASSERT_EQ(found, naive_at_least(values, threshold)) << count << " " << threshold;
      std::vector<std::uint32_t> beside(count + kSelectionSlack);
      CountsBeside counts{threshold / 2, 2 * threshold, 3, 5};  // adds to what there is
      beside.resize(find_large(values.data(), count, threshold, 0, beside.data(), counts));
      ASSERT_EQ(beside, found);
      ASSERT_EQ(counts.reach_below, 3 + naive_at_least(values, threshold / 2).size());
      ASSERT_EQ(counts.reach_above, 5 + naive_at_least(values, 2 * threshold).size());
    }
  }
}

// Blocks without large values, with a few, and with many take different ways.
TEST(SelectionKernels, FindLargeFindsMagnitudesTooWhereverLargeValuesLie) {
  for (const std::size_t count : {4096, 5000, 8191}) {
    Gradient values(count, -0.25f);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t block = i / 1024;
      const std::size_t every = block % 4 == 0   ? 5000
                                : block % 4 == 1 ? 300
                                : block % 4 == 2 ? 2
                                                 : 63;
      if ((i * 7 + block) % every == 0) values[i] = i % 2 == 0 ? 3.0f : -static_cast<float>(i);
    }
    const auto expected = naive_at_least(values, 1.0f);
    std::vector<std::uint32_t> places(count + kSelectionSlack), plain_places(places);
    std::vector<float> magnitudes(count + kSelectionSlack);
    const std::size_t found =
        find_large(values.data(), count, 1.0f, 1000, places.data(), magnitudes.data());
    ASSERT_EQ(find_large(values.data(), count, 1.0f, 0, plain_places.data()), expected.size());
    ASSERT_EQ(found, expected.size());
    for (std::size_t i = 0; i < found; ++i) {
      ASSERT_EQ(plain_places[i], expected[i]);
      ASSERT_EQ(places[i], expected[i] + 1000);
      ASSERT_EQ(magnitudes[i], std::fabs(values[expected[i]]));
    }
  }
}

TEST(SelectionKernels, KeepLargeAndCountAreThoseOfAPlainLoop) {
  for (const std::size_t count : {0, 1, 15, 16, 17, 1000}) {
    Gradient magnitudes = training_gradient(count, 5, count);
    std::vector<std::uint32_t> places(count), expected;
    for (std::uint32_t i = 0; i < count; ++i) {
      magnitudes[i] = std::fabs(magnitudes[i]);
      places[i] = 3 * i;
      if (magnitudes[i] >= 1) expected.push_back(3 * i);
    }
    std::vector<std::uint32_t> kept(count + kSelectionSlack);
    kept.resize(keep_large(places.data(), magnitudes.data(), count, 1, kept.data()));
    EXPECT_EQ(kept, expected);
    EXPECT_EQ(count_at_least(magnitudes.data(), count, 1), expected.size());
  }
}

TEST(MagnitudeRank, IsThatOfASortedList) {
  for (const std::size_t count : {1, 5, 4096, 4097, 50'000}) {
    Gradient values = training_gradient(count, 6, count);  // many ties
    for (float& value : values) value = std::fabs(value);
    if (count > 100) values[17] = 1e30f, values[18] = 0, values[19] = 1e-40f;
    Gradient sorted = values;
    std::ranges::sort(sorted, std::greater<>());
    for (const std::size_t rank : {std::size_t{1}, count / 100 + 1, count / 2 + 1, count}) {
      const RankedMagnitude found = nth_magnitude(values, rank);
      const float value = sorted[rank - 1];
      ASSERT_EQ(found.value, value) << count << " " << rank;
      ASSERT_EQ(found.above, static_cast<std::uint64_t>(std::ranges::count_if(
                                 sorted, [&](float x) { return x > value; })));
      ASSERT_EQ(found.at_least, static_cast<std::uint64_t>(std::ranges::count_if(
                                    sorted, [&](float x) { return x >= value; })));
    }
  }
  const std::vector<float> equal(10'000, 2.0f);
  EXPECT_EQ(nth_magnitude(equal, 10'000).at_least, 10'000u);
}

TEST(SelectionKernels, FindNonFiniteNamesTheFirstPlace) {
  std::vector<float> values(10'000, std::numeric_limits<float>::max());
  EXPECT_EQ(find_non_finite(values.data(), values.size()), values.size());
  for (const std::size_t place : {9999, 4097, 4096, 4095, 1, 0}) {
    values[place] = place % 2 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                   : -std::numeric_limits<float>::infinity();
    EXPECT_EQ(find_non_finite(values.data(), values.size()), place);
  }
}

TEST(SelectionKernels, MomentsAreThoseOfAPlainLoop) {
  for (const std::size_t count : {0, 1, 15, 16, 17, 1000, 4096}) {
    Gradient values = training_gradient(count, 1, count);
    if (count > 20) values[3] = values[19] = 0;
    double sum = 0, signed_sum = 0, squares = 0, logs = 0;
    std::uint64_t positive = 0;
    float largest = 0;
    for (const float value : values) {
      sum += std::fabs(value);
      signed_sum += value;
      squares += static_cast<double>(value) * value;
      largest = std::max(largest, std::fabs(value));
      if (value == 0) continue;
      ++positive;
      logs += std::log(std::fabs(static_cast<double>(value)));
    }
    const Moments moments = measure_moments(values.data(), count, Logarithms::kYes);
    EXPECT_EQ(moments.count, count);
    EXPECT_EQ(moments.positive, positive);
    EXPECT_EQ(moments.largest, largest);
    EXPECT_NEAR(moments.sum, sum, 1e-9 * (1 + sum));
    EXPECT_NEAR(moments.signed_sum, signed_sum, 1e-9 * (1 + sum));
    EXPECT_NEAR(moments.squares, squares, 1e-9 * (1 + squares));
    EXPECT_NEAR(moments.log_sum, logs, 1e-9 * (1 + sum));
    EXPECT_EQ(measure_moments(values.data(), count, Logarithms::kNo).sum, moments.sum);
  }
}

TEST(SelectionKernels, VelocityIsMomentumTimesVelocityPlusScaledGradient) {
  std::vector<float> velocity(100, 2.0f), sum(100, 1.0f), gradient(100, 8.0f);
  add_velocity({0.5f, 0.25f}, velocity.data(), sum.data(), gradient.data(), 100);
  EXPECT_EQ(velocity, std::vector<float>(100, 3.0f));
  EXPECT_EQ(sum, std::vector<float>(100, 4.0f));
}

TEST(Candidates, TopIsTheSortedTopWithTheLowerIndexOfEquals) {
  for (const std::uint64_t n : {1u, 7u, 1000u, 16'384u, 70'000u, 300'001u}) {
    const Gradient values = training_gradient(n, 2, n);  // multiples of 1/256: many ties
    for (const std::uint64_t k : {std::uint64_t{1}, n / 100 + 1, n / 3 + 1, n}) {
      HostCandidates candidates(values, 0, n, nullptr);
      ASSERT_EQ(plain(candidates.top(k)), naive_top(values, k)) << n << " " << k;
    }
  }
}

TEST(Candidates, TopIsExactWhereASampleMisleads) {
  std::vector<float> values(200'000, 0.0f);
  for (std::size_t i = 100; i < 300; ++i) values[i] = static_cast<float>(i);  // 0.1 %, in one place
  EXPECT_EQ(plain(HostCandidates(values, 0, values.size(), nullptr).top(200)),
            naive_top(values, 200));
  EXPECT_EQ(plain(HostCandidates(values, 0, values.size(), nullptr).top(1000)),
            naive_top(values, 1000));
  std::ranges::fill(values, 1.0f);
  EXPECT_EQ(plain(HostCandidates(values, 0, values.size(), nullptr).top(5)), naive_top(values, 5));
}

TEST(Candidates, CountsBelowTheFloorAreExactToo) {
  const Gradient values = training_gradient(100'000, 3, 1);
  HostCandidates candidates(values, 0, values.size(), nullptr);
  candidates.collect(1000);
  const std::uint64_t collected = candidates.size();
  EXPECT_LT(collected, 2000u);
  EXPECT_EQ(candidates.count_up_to_size(0.01f), collected);
  for (const float threshold : {10.0f, 4.0f, 0.5f, 0.0f}) {
    EXPECT_EQ(candidates.count_at_least(threshold), naive_at_least(values, threshold).size());
    EXPECT_EQ(plain(candidates.at_least(threshold)), naive_at_least(values, threshold));
  }
}

// Of a pass of its own, and of the questions that a device is asked one after the other.
TEST(Candidates, ABracketIsThatOfThreeQuestions) {
  const Gradient values = training_gradient(3'000'001, 5, 1);
  const auto count = [&](float threshold) { return naive_at_least(values, threshold).size(); };
  ThreadPool pool(3);
  for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    for (const std::uint64_t more : {0, 1}) {
      const Bracket bracket{1, 2, 4, count(1) + more};
      HostCandidates candidates(values, 0, values.size(), threads);
      for (const bool one_pass : {true, false}) {
        const Bracketed found = one_pass ? candidates.find_bracketed(bracket)
                                         : candidates.Candidates::find_bracketed(bracket);
        EXPECT_EQ(plain(found.places), naive_at_least(values, 2));
        EXPECT_EQ(found.count_above, count(4));
        EXPECT_EQ(found.enough_below, more == 0);
      }
    }
    HostCandidates candidates(values, 0, values.size(), threads);
    const Bracketed open = candidates.find_bracketed({.threshold = 2, .wanted = 1u << 31});
    EXPECT_TRUE(open.enough_below);
    EXPECT_EQ(open.count_above, 0u);
  }
}

TEST(Candidates, ARangeIsSelectedFromAloneWithGlobalIndices) {
  const Gradient values = training_gradient(50'000, 4, 1);
  HostCandidates candidates(values, 10'000, 40'000, nullptr);
  const std::vector<float> range(values.begin() + 10'000, values.begin() + 40'000);
  std::vector<std::uint32_t> expected = naive_top(range, 500);
  for (std::uint32_t& index : expected) index += 10'000;
  EXPECT_EQ(plain(candidates.top(500)), expected);
}

}  // namespace
}  // namespace tandem::collectives::test
