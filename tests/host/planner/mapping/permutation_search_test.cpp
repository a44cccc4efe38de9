// SPDX-License-Identifier: Apache-2.0
//
// Costs and differences against the sum of the definition, and searches against all mappings.
#include "planner/mapping/permutation_search.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <utility>

#include "host/planner/mapping/problems.h"
#include "host/planner/message_of.h"
#include "planner/mapping/annealing_walk.h"
#include "planner/mapping/permuted_cost.h"

namespace tandem::planner {
namespace {

using testing::HasSubstr;

constexpr Shape kShapes[] = {Shape::kSymmetric, Shape::kSymmetricFlow, Shape::kSymmetricDistance,
                             Shape::kAny};

TEST(PermutedCostTest, DeltasAreDifferencesOfCosts) {
  std::mt19937_64 random(5);
  for (const Shape shape : kShapes) {
    const QuadraticAssignment problem = random_problem(7, shape, random);
    Permutation places = random_permutation(7, random);
    PermutedCost cost(problem, places);
    SwapDeltas deltas(problem, places);
    for (int step = 0; step < 30; ++step) {
      for (int i = 0; i < 7; ++i) {
        for (int j = i + 1; j < 7; ++j) {
          Permutation swapped = places;
          std::swap(swapped[static_cast<std::size_t>(i)], swapped[static_cast<std::size_t>(j)]);
          const auto expected = static_cast<double>(problem.cost(swapped) - problem.cost(places));
          ASSERT_EQ(cost.delta(i, j), expected);
          ASSERT_EQ(cost.delta(j, i), expected);
          ASSERT_EQ(deltas.delta(j, i), expected);
        }
      }
      const int i = static_cast<int>(random() % 7),
                j = (i + 1 + static_cast<int>(random() % 6)) % 7;
      std::swap(places[static_cast<std::size_t>(i)], places[static_cast<std::size_t>(j)]);
      cost.swap(i, j, cost.delta(i, j));
      deltas.swap(i, j);
      ASSERT_EQ(cost.places(), places);
      ASSERT_EQ(cost.cost(), static_cast<double>(problem.cost(places)));
      ASSERT_EQ(deltas.cost(), static_cast<double>(problem.cost(places)));
    }
  }
}

TEST(PermutationSearch, FindsTheLeastOfAllMappings) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 12; ++i) {
    const QuadraticAssignment problem = random_problem(1 + i % 9, kShapes[i % 4], random);
    SearchOptions options;
    options.most_steps = 4000;
    const CostedMapping found = search_permutation(problem, options);
    EXPECT_EQ(found.cost, least_cost_of_all(problem));
    EXPECT_EQ(problem.cost(found.places), found.cost);
  }
}

// Each walk alone, as the search would hide one that finds nothing.
TEST(PermutationSearch, EveryWalkFindsTheLeastOfASmallProblem) {
  std::mt19937_64 random(2);
  const QuadraticAssignment problem = random_problem(8, Shape::kAny, random);
  const std::int64_t least = least_cost_of_all(problem);
  Permutation start(8);
  std::iota(start.begin(), start.end(), 0);
  SearchStop never(Deadline::never());
  const CostedMapping by_tabu = tabu_walk(problem, start, 3000, random, never);
  EXPECT_EQ(by_tabu.cost, least);
  EXPECT_EQ(problem.cost(by_tabu.places), least);
  CostedMapping by_annealing{start, problem.cost(start)};
  for (int i = 0; i < 20; ++i) {
    const CostedMapping found = annealing_walk(problem, start, 100, random, never);
    if (found.cost < by_annealing.cost) by_annealing = found;
  }
  EXPECT_EQ(by_annealing.cost, least);
  EXPECT_EQ(problem.cost(by_annealing.places), least);
}

// Tasks in a ring on places in a ring: every task is beside its two neighbours.
TEST(PermutationSearch, FindsTheRingInARing) {
  const QuadraticAssignment problem = ring_problem(24);
  SearchOptions options;
  options.most_steps = 60'000;
  EXPECT_EQ(search_permutation(problem, options).cost, 2 * 24);
}

TEST(PermutationSearch, ASeedGivesTheSameMapping) {
  std::mt19937_64 random(4);
  const QuadraticAssignment problem = random_problem(20, Shape::kAny, random);
  SearchOptions options;
  options.most_steps = 50;
  options.seed = 9;
  options.num_threads = 3;
  const Permutation first = search_permutation(problem, options).places;
  EXPECT_EQ(search_permutation(problem, options).places, first);
  options.seed = 10;
  EXPECT_NE(search_permutation(problem, options).places, first);
}

TEST(PermutationSearch, MoreThreadsAreNeverWorse) {
  std::mt19937_64 random(6);
  const QuadraticAssignment problem = random_problem(30, Shape::kSymmetric, random);
  SearchOptions options;
  options.most_steps = 20;
  const std::int64_t alone = search_permutation(problem, options).cost;
  options.num_threads = 6;
  EXPECT_LT(search_permutation(problem, options).cost, alone);
}

TEST(PermutationSearch, EndsAtItsDeadline) {
  std::mt19937_64 random(6);
  const QuadraticAssignment problem = random_problem(40, Shape::kSymmetric, random);
  SearchOptions options;
  options.deadline = Deadline::after(std::chrono::milliseconds(1));
  const CostedMapping found = search_permutation(problem, options);
  EXPECT_EQ(problem.cost(found.places), found.cost);
}

TEST(PermutationSearch, AProblemWithoutFlowCostsNothing) {
  QuadraticAssignment problem = ring_problem(12);
  std::ranges::fill(problem.flow, 0);
  SearchOptions options;
  options.most_steps = 100;
  EXPECT_EQ(search_permutation(problem, options).cost, 0);
}

TEST(PermutationSearch, NumbersThatDoublesCannotAddAreRefused) {
  QuadraticAssignment problem = ring_problem(3);
  problem.flow[1] = -(std::int64_t{1} << 30);
  problem.distance[1] = -(std::int64_t{1} << 21);
  EXPECT_THAT(message_of([&] { search_permutation(problem, {}); }), HasSubstr("passes 2^51"));
  problem.distance[1] = std::int64_t{1} << 20;
  EXPECT_EQ(message_of([&] { search_permutation(problem, {}); }), "");
}

TEST(SearchStopTest, LongStepsReadTheClockEachTime) {
  const Deadline soon = Deadline::after(std::chrono::milliseconds(50));
  SearchStop every(soon, kNoStepLimit, 1), seldom(soon);
  const bool was_early = !every.is_reached() && !seldom.is_reached();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  if (was_early) {
    EXPECT_FALSE(seldom.is_reached());
  }
  EXPECT_TRUE(every.is_reached());
}

// Places in groups far from each other, and flows of sizes from 1 to 10,000 between few pairs.
QuadraticAssignment grouped_problem(int num_tasks, std::mt19937_64& random) {
  const auto below = [&](int count) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(count));
  };
  std::vector<std::pair<int, int>> points;
  for (int i = 0; i < num_tasks; ++i) {
    constexpr int kGroup = 6, kWide = 2000, kNear = 100;
    const auto [x, y] = i % kGroup == 0 ? std::pair(below(kWide), below(kWide)) : points.back();
    points.emplace_back(x + below(kNear), y + below(kNear));
  }
  QuadraticAssignment problem;
  problem.num_tasks = num_tasks;
  for (int i = 0; i < num_tasks; ++i) {
    for (int j = 0; j < num_tasks; ++j) {
      const auto [x, y] = points[static_cast<std::size_t>(i)];
      const auto [u, v] = points[static_cast<std::size_t>(j)];
      problem.distance.push_back(std::abs(x - u) + std::abs(y - v));
      std::int64_t flow = 0;
      if (j < i && below(3) == 0) {
        flow = 1 + below(10);
        for (int power = below(4); power > 0; --power) flow *= 10;
      }
      problem.flow.push_back(flow);
    }
  }
  return problem;
}

// Rounds of long walks alone reach 395.3 million, and with short ones 391.2 million.
TEST(PermutationSearch, ShortWalksSolveProblemsWithStructure) {
  std::mt19937_64 random(3);
  const QuadraticAssignment problem = grouped_problem(60, random);
  SearchOptions options;
  options.most_steps = 40'000;
  std::int64_t sum = 0;
  constexpr int kSeeds = 8;
  for (options.seed = 1; options.seed <= kSeeds; ++options.seed) {
    sum += search_permutation(problem, options).cost;
  }
  EXPECT_LT(sum / kSeeds, 393'000'000);
}

}  // namespace
}  // namespace tandem::planner
