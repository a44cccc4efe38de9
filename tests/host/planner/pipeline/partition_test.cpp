// SPDX-License-Identifier: Apache-2.0
//
// Exact partition and diffusion against all contiguous partitions of small models, within memory
// and without.
#include <gmock/gmock.h>

#include <functional>
#include <optional>
#include <random>

#include "host/planner/message_of.h"
#include "planner/pipeline/diffusion.h"
#include "planner/pipeline/exact_partition.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<LayerCost> layers_of(std::initializer_list<std::int64_t> times_ps) {
  std::vector<LayerCost> layers;
  for (const std::int64_t time : times_ps) layers.push_back({time, 0});
  return layers;
}

// The least bottleneck of all cuts that leave no stage empty; nothing where none keeps the memory.
std::optional<std::int64_t> least_of_all(const std::vector<LayerCost>& layers,
                                         const StageRules& rules) {
  std::optional<std::int64_t> least;
  std::function<void(int, int, std::int64_t)> place = [&](int begin, int stages,
                                                          std::int64_t worst) {
    std::int64_t time = 0, bytes = 0;
    for (int end = begin + 1; end <= static_cast<int>(layers.size()); ++end) {
      time += layers[static_cast<std::size_t>(end) - 1].time_ps;
      bytes += layers[static_cast<std::size_t>(end) - 1].bytes;
      if (bytes > rules.stage_bytes) return;
      const std::int64_t now = std::max(worst, time);
      if (stages > 1) {
        place(end, stages - 1, now);
      } else if (end == static_cast<int>(layers.size())) {
        least = std::min(least.value_or(now), now);
      }
    }
  };
  place(0, rules.num_stages, 0);
  return least;
}

struct RandomCase {
  std::vector<LayerCost> layers;
  StageRules rules;
  Cuts start;
};

RandomCase random_case(std::mt19937_64& random) {
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  RandomCase made;
  const int num_layers = draw(1, 10);
  const int longest = draw(0, 3) == 0 ? 2 : 30;
  for (int i = 0; i < num_layers; ++i) made.layers.push_back({draw(0, longest), draw(0, 9)});
  made.rules.num_stages = draw(1, std::min(num_layers, 5));
  if (draw(0, 1) == 0) made.rules.stage_bytes = draw(9, 30);
  std::vector<int> all;
  for (int cut = 1; cut < num_layers; ++cut) all.push_back(cut);
  std::ranges::sample(all, std::back_inserter(made.start), made.rules.num_stages - 1, random);
  return made;
}

TEST(BalanceStages, ExactAndDiffusionReachTheLeastOfAllPartitions) {
  std::mt19937_64 random(7);
  int num_possible = 0, num_impossible = 0;
  for (int i = 0; i < 3000; ++i) {
    const RandomCase made = random_case(random);
    const StageLoads loads(made.layers, made.rules);
    const auto least = least_of_all(made.layers, made.rules);
    if (!least) {
      ++num_impossible;
      EXPECT_THAT(message_of([&] { exact_partition(loads); }), HasSubstr("bytes per stage"));
      EXPECT_THAT(message_of([&] { diffuse(loads, made.start); }), HasSubstr("bytes per stage"));
      continue;
    }
    ++num_possible;
    const Cuts exact = exact_partition(loads);
    loads.check(exact);
    EXPECT_EQ(loads.bottleneck_ps(exact), *least);
    EXPECT_TRUE(loads.fits_memory(exact));
    const Cuts diffused = diffuse(loads, made.start).cuts;
    loads.check(diffused);
    EXPECT_EQ(loads.bottleneck_ps(diffused), *least);
    EXPECT_TRUE(loads.fits_memory(diffused));
  }
  EXPECT_GT(num_possible, 1000);
  EXPECT_GT(num_impossible, 100);
}

// Every neighbour differs by one layer only, so that no pair of stages can gain.
TEST(BalanceStages, DiffusionLeavesASlopeThatNoPairImproves) {
  const std::vector<LayerCost> layers(15, {2, 0});
  const StageLoads loads(layers, {5, kNoStageLimit});
  const Diffusion result = diffuse(loads, {5, 9, 12, 14});
  EXPECT_THAT(result.cuts, ElementsAre(3, 6, 9, 12));
  EXPECT_EQ(result.rounds, 1);
  EXPECT_EQ(result.moves, 2 + 3 + 3 + 2);
}

TEST(BalanceStages, PairsMoveOnlyBoundaryLayersShorterThanTheDifference) {
  // 9 against 1: the layers 2 and 3 move, the layer 4 would not gain.
  const std::vector<LayerCost> layers = layers_of({4, 3, 2, 1});
  const Diffusion result = diffuse(StageLoads(layers, {2, kNoStageLimit}), {3});
  EXPECT_THAT(result.cuts, ElementsAre(1));
  EXPECT_EQ(result.moves, 2);
  EXPECT_EQ(result.rounds, 3);  // the last one finds nothing to move
}

TEST(BalanceStages, ABalancedPipelineStaysAsItIs) {
  const std::vector<LayerCost> layers = layers_of({3, 1, 2, 2});
  const Diffusion result = diffuse(StageLoads(layers, {2, kNoStageLimit}), {2});
  EXPECT_THAT(result.cuts, ElementsAre(2));
  EXPECT_EQ(result.moves, 0);
}

TEST(BalanceStages, FirstStagesTakeTheMostAndNoneIsEmpty) {
  const std::vector<LayerCost> layers = layers_of({1, 1, 1, 5, 1, 1});
  EXPECT_THAT(exact_partition(StageLoads(layers, {4, kNoStageLimit})), ElementsAre(3, 4, 5));
}

TEST(BalanceStages, HundredsOfStagesKeepTheBoundOfTheSum) {
  std::mt19937_64 random(3);
  std::vector<LayerCost> layers;
  for (int i = 0; i < 5000; ++i) {
    layers.push_back({static_cast<std::int64_t>(random() % 1'000'000), 1});
  }
  const StageLoads loads(layers, {720, kNoStageLimit});
  const Cuts exact = exact_partition(loads);
  const Cuts diffused = diffuse(loads, equal_counts(5000, 720)).cuts;
  EXPECT_EQ(loads.bottleneck_ps(exact), loads.bottleneck_ps(diffused));
  EXPECT_GE(loads.bottleneck_ps(exact), loads.least_bottleneck_ps());
  EXPECT_LT(loads.bottleneck_ps(exact), loads.least_bottleneck_ps() + 1'000'000);
}

TEST(BalanceStages, LeastBottleneckIsTheLongestLayerOrTheShare) {
  const std::vector<LayerCost> even = layers_of({2, 2, 3}), uneven = layers_of({9, 1, 1});
  EXPECT_EQ(StageLoads(even, {2, kNoStageLimit}).least_bottleneck_ps(), 4);
  EXPECT_EQ(StageLoads(uneven, {2, kNoStageLimit}).least_bottleneck_ps(), 9);
}

TEST(BalanceStages, EqualCountsDivideAsFarAsTheyCan) {
  EXPECT_THAT(equal_counts(10, 4), ElementsAre(2, 5, 7));
  EXPECT_THAT(equal_counts(3, 1), ElementsAre());
}

TEST(BalanceStages, ReportsTimesAndBytesOfStages) {
  const std::vector<LayerCost> layers = {{1, 10}, {2, 20}, {3, 30}};
  const StageLoads loads(layers, {2, 40});
  EXPECT_THAT(loads.stage_times_ps({2}), ElementsAre(3, 3));
  EXPECT_THAT(loads.stage_bytes({2}), ElementsAre(30, 30));
  EXPECT_TRUE(loads.fits_memory({2}));
  EXPECT_FALSE(loads.fits_memory({1}));
}

TEST(BalanceStages, WhatCannotBeIsNamed) {
  const std::vector<LayerCost> layers = {{1, 10}, {2, 20}};
  const auto refused = [&](std::vector<LayerCost> of, const StageRules& rules) {
    return message_of([&] { StageLoads(of, rules); });
  };
  EXPECT_THAT(refused(layers, {0, 100}), HasSubstr("at least one stage"));
  EXPECT_THAT(refused(layers, {3, 100}), HasSubstr("2 layers cannot fill 3 stages"));
  EXPECT_THAT(refused(layers, {2, 19}), HasSubstr("layer 1 needs 20 bytes and fits no stage"));
  EXPECT_THAT(refused({{-1, 0}}, {1, 100}), HasSubstr("layer 0 has a negative time"));
  EXPECT_THAT(refused({{1, -1}}, {1, 100}), HasSubstr("layer 0 has a negative time or size"));
  EXPECT_THAT(refused({{kMostPicoseconds, 0}, {1, 0}}, {1, 100}), HasSubstr("us together"));
  EXPECT_THAT(refused({{1, kNoStageLimit}, {1, 1}}, {1, kNoStageLimit}),
              HasSubstr("more bytes together"));
  EXPECT_EQ(refused({{kMostPicoseconds, kNoStageLimit}}, {1, kNoStageLimit}), "");
  const StageLoads loads(layers, {2, 100});
  EXPECT_THAT(message_of([&] { loads.check({}); }), HasSubstr("2 stages have 1 cuts"));
  for (const int cut : {-1, 0, 2, 3}) {
    EXPECT_THAT(message_of([&] { diffuse(loads, {cut}); }), HasSubstr("would have no layer"));
  }
}

}  // namespace
}  // namespace tandem::planner
