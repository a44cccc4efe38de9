// SPDX-License-Identifier: Apache-2.0
//
// Updates of whole parameters and ranges against the scalar reference, bit for bit.
#include <gmock/gmock.h>

#include <limits>

#include "reference.h"
#include "tensor/dtype.h"
#include "training/optimizer/optimizer.h"

namespace tandem::training::test {
namespace {

constexpr StepFactors step_of(std::uint64_t iteration) { return {iteration, 3e-3, 0.7}; }

// A parameter after some steps: weights, the state in order, and the copy.
struct Result {
  Values weights;
  std::vector<Values> state;
  std::vector<std::uint16_t> copy;
};

Result optimize(const UpdateRule& rule, std::size_t count, int steps, int threads = 1) {
  ThreadPool pool(threads);
  Optimizer optimizer(pool);
  const auto parameter = optimizer.add({.name = "w", .count = count, .rule = rule});
  Result result{random_values(count, 1), {}, std::vector<std::uint16_t>(count)};
  for (int t = 1; t <= steps; ++t) {
    const Values gradient = random_values(count, 100 + static_cast<std::uint64_t>(t));
    optimizer.update(step_of(static_cast<std::uint64_t>(t)), {.parameter = parameter,
                                                              .weights = result.weights,
                                                              .gradient = gradient,
                                                              .copy = result.copy});
  }
  for (const StateView& view : optimizer.state()) {
    result.state.emplace_back(view.values.begin(), view.values.end());
  }
  return result;
}

template <typename OneRule>
Result expect_of(const OneRule& rule, std::size_t count, int steps) {
  Result result{random_values(count, 1), {}, {}};
  result.state.resize(state_slots(rule).size(), Values(count));
  for (int t = 1; t <= steps; ++t) {
    const Values gradient = random_values(count, 100 + static_cast<std::uint64_t>(t));
    const auto factors = factors_of(rule, step_of(static_cast<std::uint64_t>(t)));
    if constexpr (std::is_same_v<OneRule, Sgd>) {
      reference(factors, result.weights, gradient,
                result.state.empty() ? std::span<float>() : std::span<float>(result.state[0]));
    } else {
      reference(factors, result.weights, gradient, result.state[0], result.state[1]);
    }
  }
  for (const float weight : result.weights) result.copy.push_back(f32_to_bf16(weight));
  return result;
}

void expect_equal(const Result& got, const Result& expected) {
  EXPECT_EQ(bits_of(got.weights), bits_of(expected.weights));
  EXPECT_EQ(got.copy, expected.copy);
  ASSERT_EQ(got.state.size(), expected.state.size());
  for (std::size_t i = 0; i < got.state.size(); ++i) {
    EXPECT_EQ(bits_of(got.state[i]), bits_of(expected.state[i])) << "state " << i;
  }
}

template <typename OneRule>
void expect_reference(const OneRule& rule) {
  for (const std::size_t count : {1, 15, 16, 17, 100, 1000, 40'000, 70'001}) {
    SCOPED_TRACE(count);
    expect_equal(optimize(rule, count, 3), expect_of(rule, count, 3));
  }
}

TEST(OptimizerDense, AdamWHasTheBitsOfTheScalarLoop) { expect_reference(Adam{}); }

TEST(OptimizerDense, AdamWithL2HasTheBitsOfTheScalarLoop) {
  expect_reference(Adam{.weight_decay = 0.1, .decay = Decay::kL2});
}

TEST(OptimizerDense, RowAdamOverWholeRangesHasTheBitsOfTheScalarLoop) {
  expect_reference(RowAdam{.weight_decay = 0.1});
}

TEST(OptimizerDense, SgdHasTheBitsOfTheScalarLoopInEveryForm) {
  expect_reference(Sgd{});
  expect_reference(Sgd{.weight_decay = 0.1});
  expect_reference(Sgd{.momentum = 0.9});
  expect_reference(Sgd{.momentum = 0.9, .weight_decay = 0.1});
  expect_reference(Sgd{.momentum = 0.9, .nesterov = true});
  expect_reference(Sgd{.momentum = 0.9, .nesterov = true, .weight_decay = 0.1});
}

TEST(OptimizerDense, TheDecayOfSgdWithAStepRateFollowsTheLearningRate) {
  const SgdFactors factors = factors_of(Sgd{.weight_decay = 0.1, .step_rate = 0.5}, {1, 0.02, 1});
  EXPECT_FLOAT_EQ(factors.rate, 0.5f);
  EXPECT_FLOAT_EQ(factors.decay, 0.004f) << "times the rate: 0.1 times 0.02";
}

// Long enough that the copy is written past the caches.
TEST(OptimizerDense, ALongCopyHasTheSameBits) {
  const std::size_t count = (std::size_t{1} << 21) + 5;
  expect_equal(optimize(Adam{}, count, 1), expect_of(Adam{}, count, 1));
}

TEST(OptimizerDense, ThreadsChangeNoBit) {
  expect_equal(optimize(Adam{}, 200'001, 2, 3), optimize(Adam{}, 200'001, 2, 1));
}

// Two owners with a half each, in pieces, against the whole at once.
TEST(OptimizerDense, RangesOfOwnersGiveTheBitsOfTheWhole) {
  constexpr std::size_t kCount = 10'007, kCut = 4'099;
  const Result whole = optimize(Adam{}, kCount, 2);
  ThreadPool pool(1);
  Values weights = random_values(kCount, 1);
  for (const auto& [first, end] : {std::pair{std::size_t{0}, kCut}, std::pair{kCut, kCount}}) {
    Optimizer optimizer(pool);
    const auto parameter = optimizer.add(
        {.name = "w", .count = kCount, .owned_first = first, .owned_count = end - first});
    EXPECT_EQ(optimizer.state_bytes(), 8 * (end - first));
    for (std::uint64_t t = 1; t <= 2; ++t) {
      const Values gradient = random_values(kCount, 100 + t);
      for (std::size_t begin = first; begin < end; begin += 1000) {
        const std::size_t count = std::min<std::size_t>(1000, end - begin);
        optimizer.update(step_of(t), {.parameter = parameter,
                                      .first = begin,
                                      .weights = std::span(weights).subspan(begin, count),
                                      .gradient = std::span(gradient).subspan(begin, count)});
      }
    }
    for (const StateView& view : optimizer.state()) EXPECT_EQ(view.first, first);
  }
  EXPECT_EQ(bits_of(weights), bits_of(whole.weights));
}

TEST(OptimizerDense, AnUpdateWithoutACopyHasTheSameWeights) {
  ThreadPool pool(1);
  Optimizer optimizer(pool);
  const auto parameter = optimizer.add({.name = "w", .count = 1000});
  Values weights = random_values(1000, 1);
  for (std::uint64_t t = 1; t <= 2; ++t) {
    const Values gradient = random_values(1000, 100 + t);
    optimizer.update(step_of(t),
                     {.parameter = parameter, .weights = weights, .gradient = gradient});
  }
  EXPECT_EQ(bits_of(weights), bits_of(optimize(Adam{}, 1000, 2).weights));
}

TEST(OptimizerDense, StateIsNamedAndGoesOnAfterItIsCopied) {
  ThreadPool pool(1);
  Values weights = random_values(100, 1);
  std::vector<Values> saved;
  std::vector<std::string> names;
  for (std::uint64_t t = 1; t <= 2; ++t) {  // a new optimiser each time
    Optimizer optimizer(pool);
    const auto a = optimizer.add({.name = "a", .count = 100});
    optimizer.add({.name = "b", .count = 10, .rule = Sgd{.momentum = 0.5}});
    optimizer.add({.name = "c", .count = 10, .width = 5, .rule = RowwiseAdagrad{}});
    names.clear();
    for (std::size_t i = 0; StateView & view : optimizer.state()) {
      names.push_back(view.name);
      if (!saved.empty()) std::ranges::copy(saved[i], view.values.begin());
      ++i;
    }
    optimizer.update(step_of(t),
                     {.parameter = a, .weights = weights, .gradient = random_values(100, 100 + t)});
    saved.clear();
    for (StateView& view : optimizer.state()) {
      saved.emplace_back(view.values.begin(), view.values.end());
    }
  }
  EXPECT_THAT(names,
              testing::ElementsAre("a/exp_avg", "a/exp_avg_sq", "b/momentum_buffer", "c/sum"));
  EXPECT_EQ(bits_of(weights), bits_of(optimize(Adam{}, 100, 2).weights));
}

TEST(OptimizerDense, ANaNAndAnInfinitySpoilTheirOwnValuesOnly) {
  ThreadPool pool(1);
  Optimizer optimizer(pool);
  const auto parameter = optimizer.add({.name = "w", .count = 64});
  Values weights(64, 1.0f), gradient(64, 0.5f);
  gradient[3] = std::numeric_limits<float>::quiet_NaN();
  gradient[40] = std::numeric_limits<float>::infinity();
  std::vector<std::uint16_t> copy(64);
  optimizer.update(
      step_of(1), {.parameter = parameter, .weights = weights, .gradient = gradient, .copy = copy});
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(std::isnan(weights[i]), i == 3 || i == 40) << i;
    EXPECT_EQ(std::isnan(bf16_to_f32(copy[i])), i == 3 || i == 40) << i;
  }
}

// One step of torch.optim.AdamW(lr=0.003, weight_decay=0.01) on w = 1, g = 0.5: by hand in f64.
TEST(OptimizerDense, AdamWIsThatOfTheBooks) {
  ThreadPool pool(1);
  Optimizer optimizer(pool);
  const auto parameter = optimizer.add({.name = "w", .count = 1});
  Values weights = {1.0f};
  double w = 1, m = 0, v = 0;
  for (std::uint64_t t = 1; t <= 50; ++t) {
    const double g = 0.5 / static_cast<double>(t);
    const auto power = static_cast<double>(t);
    w -= 0.003 * 0.01 * w;
    m += (1 - 0.9) * (g - m);
    v = 0.999 * v + (1 - 0.999) * g * g;
    w -= 0.003 * (m / (1 - std::pow(0.9, power))) /
         (std::sqrt(v / (1 - std::pow(0.999, power))) + 1e-8);
    optimizer.update(
        {t, 0.003, 1},
        {.parameter = parameter, .weights = weights, .gradient = Values{static_cast<float>(g)}});
  }
  EXPECT_NEAR(weights[0], w, 2e-6);
}

}  // namespace
}  // namespace tandem::training::test
