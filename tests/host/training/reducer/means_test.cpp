// SPDX-License-Identifier: Apache-2.0
//
// Means against naive ones in f64, for every sparsifier and rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

#include "host/training/reducer/reducers.h"
#include "training/reducer/values.h"

namespace tandem::training::test {
namespace {

const Shapes kMeanModel = {{"embed", {50, 8}},     {"a.weight", {40, 10}}, {"a.bias", {40}},
                           {"b.weight", {30, 40}}, {"b.bias", {30}},       {"one", {1}}};
const std::vector<std::uint32_t> kAll = {0, 1, 2, 3, 4, 5};

// The mean over ranks in f64.
std::vector<double> naive_mean(std::uint32_t parameter, int world, std::uint64_t step) {
  std::vector<double> mean(num_values_of(kMeanModel[parameter].second));
  for (int rank = 0; rank < world; ++rank) {
    const Values gradient = gradient_of(parameter, mean.size(), rank, step);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += gradient[i] / double(world);
  }
  return mean;
}

void expect_mean(const Values& found, const std::vector<double>& expected, double relative) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], relative * (1 + std::fabs(expected[i]))) << "value " << i;
  }
}

class MeansOfEverySparsifier : public testing::TestWithParam<std::string> {};

TEST_P(MeansOfEverySparsifier, WithDensity1GivesTheDenseMean) {
  for (const int world : {1, 2, 3, 4}) {
    expect_all_done(run_groups(world, [&](Group& group) {
      RankReducer reducer(group, plain_options(GetParam(), 1), kMeanModel);
      for (std::uint64_t step = 0; step < 3; ++step) {
        const auto means = reducer.step({{5, 3, 1}, {0, 2, 4}});
        for (const std::uint32_t parameter : kAll) {
          expect_mean(means.at(parameter), naive_mean(parameter, world, step), 1e-6);
        }
      }
    }));
  }
}

TEST_P(MeansOfEverySparsifier, WithDensity0SendsNothingAndKeepsEverything) {
  expect_all_done(run_groups(2, [&](Group& group) {
    RankReducer reducer(group, plain_options(GetParam(), 0), kMeanModel);
    Values sum(400);
    for (std::uint64_t step = 0; step < 3; ++step) {
      const Values gradient = gradient_of(1, 400, group.rank(), step);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
      for (const auto& [parameter, mean] : reducer.step({kAll})) {
        EXPECT_THAT(mean, testing::Each(0.0f));
      }
    }
    const ReducerState state = parse_state(reducer->state());
    const auto& residual = state.parameters[1].tensors.at(kResidual);
    EXPECT_THAT(residual, testing::ElementsAreArray(sum));
  }));
}

TEST_P(MeansOfEverySparsifier, GivesEveryRankTheSameBits) {
  std::mutex mutex;
  std::map<int, std::vector<Values>> seen;
  expect_all_done(run_groups(3, [&](Group& group) {
    ReducerOptions options = plain_options(GetParam(), 0.05);
    options.algorithm.momentum = 0.9;
    RankReducer reducer(group, options, kMeanModel);
    std::vector<Values> means;
    for (std::uint64_t step = 0; step < 4; ++step) {
      for (auto& [parameter, mean] : reducer.step({{0, 1, 2}, {3, 4, 5}})) means.push_back(mean);
    }
    const std::lock_guard lock(mutex);
    seen[group.rank()] = std::move(means);
  }));
  ASSERT_EQ(seen.size(), 3u);
  bool any = false;
  for (std::size_t i = 0; i < seen[0].size(); ++i) {
    for (const int rank : {1, 2}) {
      ASSERT_EQ(0, std::memcmp(seen[0][i].data(), seen[rank][i].data(), seen[0][i].size() * 4));
    }
    any = any || std::ranges::any_of(seen[0][i], [](float value) { return value != 0; });
  }
  EXPECT_TRUE(any);
}

// Gradients are multiples of 32, so that halves hold them.
TEST_P(MeansOfEverySparsifier, KeepsInResidualsWhatHalvesCannotHold) {
  constexpr std::size_t kCount = 100;
  std::mutex mutex;
  std::vector<double> arrived(kCount), kept(kCount);
  bool cut = false;
  expect_all_done(run_groups(2, [&](Group& group) {
    Reducer reducer(group, plain_options(GetParam(), 0.05));
    const std::vector<std::uint32_t> bucket = {reducer.add_parameter("w", {kCount})};
    std::vector<double> sum(kCount);
    bool own_cut = false;
    for (int step = 0; step < 8; ++step) {
      std::vector<std::uint16_t> own(kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        own[i] = f32_to_f16((i % 2 == 0 ? 1.0f : -1.0f) * static_cast<float>(32 * (1900 + i)));
      }
      reducer.wait(reducer.submit({bucket, own.data(), DType::kF16, false, true}),
                   Deadline::never());
      for (std::size_t i = 0; i < kCount; ++i) sum[i] += f16_to_f32(own[i]);
      for (const std::uint16_t value : own) {
        own_cut = own_cut || std::fabs(f16_to_f32(value)) == kMostF16;
      }
    }
    const auto state = parse_state(reducer.state());
    const auto& residual = state.parameters[0].tensors.at(kResidual);
    const std::lock_guard lock(mutex);
    cut = cut || own_cut;
    for (std::size_t i = 0; i < kCount; ++i) {
      arrived[i] = sum[i];
      kept[i] += residual[i] / 2.0;
    }
  }));
  for (std::size_t i = 0; i < kCount; ++i) {
    const double all = 8 * (i % 2 == 0 ? 1.0 : -1.0) * static_cast<double>(32 * (1900 + i));
    EXPECT_NEAR(arrived[i] + kept[i], all, 0.002 * std::fabs(all)) << i;
  }
  // These thresholds send such a gradient at once, or values that chunk_topk has rounded.
  const bool grows =
      GetParam() != "hard_threshold" && GetParam() != "gaussiank" && GetParam() != "chunk_topk";
  EXPECT_TRUE(cut || !grows) << "no mean was beyond the range of halves";
}

INSTANTIATE_TEST_SUITE_P(Reducer, MeansOfEverySparsifier,
                         testing::ValuesIn(collectives::sparsifier_names()));

// Top-k of residual + gradient in f64, on the values of a bucket.
struct NaiveTopK {
  explicit NaiveTopK(int world, std::size_t count) : residuals(world, std::vector<double>(count)) {}

  std::vector<double> step(const std::vector<Values>& gradients, std::size_t k) {
    const std::size_t count = gradients[0].size();
    std::vector<bool> chosen(count);
    for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
      for (std::size_t i = 0; i < count; ++i) residuals[rank][i] += gradients[rank][i];
      std::vector<std::size_t> order(count);
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, std::greater<>(),
                               [&](std::size_t i) { return std::fabs(residuals[rank][i]); });
      for (std::size_t i = 0; i < k; ++i) chosen[order[i]] = true;
    }
    std::vector<double> mean(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (!chosen[i]) continue;
      for (auto& residual : residuals) {
        mean[i] += residual[i] / double(gradients.size());
        residual[i] = 0;
      }
    }
    return mean;
  }

  std::vector<std::vector<double>> residuals;
};

// Distinct magnitudes, so that the choice is one.
Values distinct(std::size_t count, int rank, std::uint64_t step) {
  std::mt19937_64 random(77 * step + static_cast<std::uint64_t>(rank));
  std::normal_distribution<float> normal;
  Values values(count);
  for (float& value : values) value = normal(random);
  return values;
}

TEST(Reducer, AgreesWithANaiveTopKInFloat64) {
  for (const int world : {1, 2, 3, 4}) {
    expect_all_done(run_groups(world, [&](Group& group) {
      Reducer reducer(group, plain_options("topk", 0.05));
      const std::vector<std::uint32_t> bucket = {reducer.add_parameter("w", {20, 30}),
                                                 reducer.add_parameter("v", {400})};
      NaiveTopK naive(world, 1000);
      for (std::uint64_t step = 0; step < 5; ++step) {
        std::vector<Values> gradients;
        for (int rank = 0; rank < world; ++rank) gradients.push_back(distinct(1000, rank, step));
        Values own = gradients[static_cast<std::size_t>(group.rank())];
        reducer.wait(reducer.submit({.parameters = bucket, .values = own.data(), .last = true}),
                     Deadline::never());
        expect_mean(own, naive.step(gradients, 50), 1e-5);
      }
    }));
  }
}

ReducerOptions mixed_options() {
  ReducerOptions options = plain_options("topk", 0.1);
  options.dense_below = 100;
  options.dense_vectors = true;
  options.rules = {{"embed*", "rows", {}, {}}, {"b.weight", "micro", 0.2, {}}};
  return options;
}

TEST(Reducer, DividesABucketByTheRulesOfItsParameters) {
  expect_all_done(run_groups(3, [&](Group& group) {
    RankReducer reducer(group, mixed_options(), kMeanModel);
    const auto means = reducer.step({{3, 2, 1, 5, 0, 4}});
    for (const std::uint32_t exact : {0u, 2u, 4u, 5u}) {
      expect_mean(means.at(exact), naive_mean(exact, 3, 0), 1e-6);
    }
    const auto sent = [&](std::uint32_t parameter) {
      return std::ranges::count_if(means.at(parameter), [](float value) { return value != 0; });
    };
    EXPECT_GE(sent(1), 30);  // 40 of each rank, which may agree
    EXPECT_LE(sent(1), 3 * 40);
    EXPECT_GE(sent(3), 100);  // about 240
    EXPECT_LE(sent(3), 480);
    const ReducerState state = parse_state(reducer->state());
    EXPECT_EQ(state.parts.size(), 2u);
    EXPECT_TRUE(state.parameters[0].tensors.empty());
    EXPECT_TRUE(state.parameters[2].tensors.empty());
    EXPECT_FALSE(state.parameters[3].tensors.empty());
  }));
}

TEST(Reducer, SumsDenselyOnRequestAndLeavesResidualsAlone) {
  expect_all_done(run_groups(2, [&](Group& group) {
    RankReducer reducer(group, plain_options("topk", 0.1), kMeanModel);
    reducer.step({kAll});
    const auto before = parse_state(reducer->state()).parameters[3].tensors.at(kResidual);
    const auto means = reducer.step({kAll}, /*exact=*/true);
    for (const std::uint32_t parameter : kAll) {
      expect_mean(means.at(parameter), naive_mean(parameter, 2, 1), 1e-6);
    }
    EXPECT_EQ(parse_state(reducer->state()).parameters[3].tensors.at(kResidual), before);
  }));
}

TEST(Reducer, RoundsThe16BitMeanOfWidenedValuesOnce) {
  for (const DType type : {DType::kF16, DType::kBF16}) {
    const auto narrow = [&](float value) {
      return type == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
    };
    const auto wide = [&](std::uint16_t value) {
      return type == DType::kF16 ? f16_to_f32(value) : bf16_to_f32(value);
    };
    for (const char* sparsifier : {"dense", "topk"}) {
      expect_all_done(run_groups(3, [&](Group& group) {
        Reducer reducer(group, plain_options(sparsifier, 1));
        const std::vector<std::uint32_t> bucket = {reducer.add_parameter("w", {300})};
        std::vector<std::uint16_t> own(300);
        std::vector<double> mean(300);
        for (int rank = 0; rank < 3; ++rank) {
          const Values values = distinct(300, rank, 0);
          for (std::size_t i = 0; i < 300; ++i) {
            const std::uint16_t rounded = narrow(values[i]);
            if (rank == group.rank()) own[i] = rounded;
            mean[i] += wide(rounded);
          }
        }
        reducer.wait(reducer.submit({bucket, own.data(), type, false, true}), Deadline::never());
        const double unit = type == DType::kF16 ? 0x1p-10 : 0x1p-7;
        for (std::size_t i = 0; i < 300; ++i) {
          const double expected = mean[i] / 3;
          ASSERT_NEAR(wide(own[i]), expected, 0.51 * unit * std::fabs(expected) + 1e-6) << i;
        }
      }));
    }
  }
}

TEST(Reducer, KeepsTheResidualOf16BitGradientsInFloat32) {
  expect_all_done(run_groups(2, [&](Group& group) {
    Reducer reducer(group, plain_options("topk", 0));
    const std::vector<std::uint32_t> bucket = {reducer.add_parameter("w", {2})};
    for (int step = 0; step < 3; ++step) {
      std::vector<std::uint16_t> own = {f32_to_bf16(256), f32_to_bf16(1)};
      if (step > 0) own[0] = own[1];  // 257 and 258 are no bf16 values
      reducer.wait(reducer.submit({bucket, own.data(), DType::kBF16, false, true}),
                   Deadline::never());
    }
    const auto state = parse_state(reducer.state());
    EXPECT_THAT(state.parameters[0].tensors.at(kResidual), testing::ElementsAre(258, 3));
  }));
}

TEST(Reducer, HoldsDenseMeansOfTheLargestHalves) {
  expect_all_done(run_groups(3, [&](Group& group) {
    Reducer reducer(group, plain_options("dense", 1));
    const std::vector<std::uint32_t> bucket = {reducer.add_parameter("w", {100})};
    std::vector<std::uint16_t> own(100, f32_to_f16(kMostF16));
    reducer.wait(reducer.submit({bucket, own.data(), DType::kF16, false, true}), Deadline::never());
    for (const std::uint16_t value : own) EXPECT_EQ(f16_to_f32(value), kMostF16);
  }));
}

TEST(Reducer, SumsFloat64InFloat64) {
  expect_all_done(run_groups(2, [&](Group& group) {
    Reducer reducer(group, plain_options("topk", 0.01));
    const std::vector<std::uint32_t> bucket = {reducer.add_parameter("w", {10, 10})};
    std::vector<double> own(100, 1 + group.rank() * 0x1p-40);
    reducer.wait(reducer.submit({bucket, own.data(), DType::kF64, false, true}), Deadline::never());
    EXPECT_THAT(own, testing::Each(1 + 0x1p-41));
  }));
}

TEST(Reducer, RoundsDenseValuesToTheWireType) {
  expect_all_done(run_groups(2, [&](Group& group) {
    ReducerOptions options = plain_options("dense", 1);
    options.wire = DType::kBF16;
    Reducer reducer(group, options);
    const std::vector<std::uint32_t> bucket = {reducer.add_parameter("w", {100})};
    Values own(100, 1 + 0x1p-12f);
    reducer.wait(reducer.submit({.parameters = bucket, .values = own.data()}), Deadline::never());
    EXPECT_THAT(own, testing::Each(1.0f));
  }));
}

TEST(Reducer, SendsWhatSparsifiersSelectInTheWireTypeAndKeepsWhatRoundingTakes) {
  expect_all_done(run_groups(2, [&](Group& group) {
    ReducerOptions options = plain_options("topk", 0.5);
    options.wire = DType::kBF16;
    Reducer reducer(group, options);
    const std::vector<std::uint32_t> bucket = {reducer.add_parameter("w", {100})};
    Values own(100);
    for (std::size_t i = 0; i < 50; ++i) own[i] = 1 + 0x1p-12f;
    reducer.wait(reducer.submit({.parameters = bucket, .values = own.data(), .last = true}),
                 Deadline::never());
    const auto state = parse_state(reducer.state());
    const auto& residual = state.parameters[0].tensors.at(kResidual);
    for (std::size_t i = 0; i < 100; ++i) {
      EXPECT_EQ(own[i], i < 50 ? 1.0f : 0.0f) << i;
      EXPECT_EQ(residual[i], i < 50 ? 0x1p-12f : 0.0f) << i;
    }
  }));
}

TEST(Reducer, TakesGradientsThatAreZero) {
  for (const std::string& name : collectives::sparsifier_names()) {
    expect_all_done(run_groups(2, [&](Group& group) {
      Reducer reducer(group, plain_options(name, 0.1));
      const std::vector<std::uint32_t> bucket = {reducer.add_parameter("w", {100})};
      for (int step = 0; step < 3; ++step) {
        Values own(100);
        reducer.wait(reducer.submit({.parameters = bucket, .values = own.data(), .last = true}),
                     Deadline::never());
        EXPECT_THAT(own, testing::Each(0.0f)) << name;
      }
    }));
  }
}

TEST(Reducer, GoesThroughTheWarmUp) {
  expect_all_done(run_groups(2, [&](Group& group) {
    ReducerOptions options = plain_options("randomk", 0.01);
    options.warmup_steps = 4;
    options.warmup_density = 0.25;
    Reducer reducer(group, options);
    const std::vector<std::uint32_t> bucket = {reducer.add_parameter("w", {100, 10})};
    std::vector<std::ptrdiff_t> sent;
    for (std::uint64_t step = 0; step < 6; ++step) {
      Values own(1000, 1);
      reducer.wait(reducer.submit({.parameters = bucket, .values = own.data(), .last = true}),
                   Deadline::never());
      sent.push_back(std::ranges::count_if(own, [](float value) { return value != 0; }));
    }
    EXPECT_THAT(sent, testing::ElementsAre(250, 250, 63, 16, 10, 10));
  }));
}

TEST(Reducer, WarmsUpByItselfBelowOnePercent) {
  expect_all_done(run_groups(2, [&](Group& group) {
    Reducer reducer(group, plain_options("randomk", 0.005));
    EXPECT_EQ(reducer.statistics().warmup_steps, 200u);
    const std::vector<std::uint32_t> bucket = {reducer.add_parameter("w", {100, 10})};
    std::vector<std::ptrdiff_t> sent;
    for (std::uint64_t step = 0; step < 201; ++step) {
      Values own(1000, 1);
      reducer.wait(reducer.submit({.parameters = bucket, .values = own.data(), .last = true}),
                   Deadline::never());
      sent.push_back(std::ranges::count_if(own, [](float value) { return value != 0; }));
    }
    EXPECT_EQ(sent.front(), 250);
    EXPECT_EQ(sent[199], 16);
    EXPECT_EQ(sent[200], 5);
  }));
}

TEST(Reducer, IsDenseInTheFirstStepsOnRequest) {
  expect_all_done(run_groups(2, [&](Group& group) {
    ReducerOptions options = plain_options("topk", 0.01);
    options.warmup_steps = 2;
    RankReducer reducer(group, options, kMeanModel);
    for (std::uint64_t step = 0; step < 2; ++step) {
      expect_mean(reducer.step({kAll}).at(3), naive_mean(3, 2, step), 1e-6);
    }
    const auto sparse = reducer.step({kAll}).at(3);
    EXPECT_LE(std::ranges::count_if(sparse, [](float value) { return value != 0; }), 24 * 2);
  }));
}

}  // namespace
}  // namespace tandem::training::test
