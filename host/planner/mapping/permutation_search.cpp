// SPDX-License-Identifier: Apache-2.0
//
// Rounds of annealing and iterated tabu walks.
#include "planner/mapping/permutation_search.h"

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "planner/mapping/annealing_walk.h"

namespace tandem::planner {
namespace {

constexpr int kMostTried = 8;  // 40,320 mappings

// Structured problems such as tai100b and sko100a need many short walks with small disturbances,
// and random ones long walks. Rounds take turns; threads begin with different kinds.
struct WalkKind {
  std::int64_t steps_per_task;
  int tasks_per_disturbed;     // the most that are disturbed: tasks / this
  int patience_per_disturbed;  // walks without gain: the most that are disturbed * this
};
constexpr WalkKind kShortWalks{2, 6, 6}, kLongWalks{20, 2, 3};

CostedMapping best_of_all(const QuadraticAssignment& problem) {
  Permutation places(static_cast<std::size_t>(problem.num_tasks));
  std::iota(places.begin(), places.end(), 0);
  CostedMapping best{places, problem.cost(places)};
  while (std::next_permutation(places.begin(), places.end())) {
    const std::int64_t cost = problem.cost(places);
    if (cost < best.cost) best = {places, cost};
  }
  return best;
}

// Moves `count` random tasks in a cycle.
void disturb(Permutation& places, int count, std::mt19937_64& random) {
  std::vector<int> tasks(places.size());
  std::iota(tasks.begin(), tasks.end(), 0);
  std::ranges::shuffle(tasks, random);
  for (int i = 1; i < count; ++i) {
    std::swap(places[static_cast<std::size_t>(tasks[static_cast<std::size_t>(i) - 1])],
              places[static_cast<std::size_t>(tasks[static_cast<std::size_t>(i)])]);
  }
}

class IteratedSearch {
 public:
  IteratedSearch(const QuadraticAssignment& problem, const SearchOptions& options,
                 std::uint64_t thread)
      : problem_(problem),
        stop_(options.deadline, options.most_steps),
        random_(options.seed * 0x9E3779B97F4A7C15ULL + thread),
        thread_(static_cast<std::int64_t>(thread)),
        best_{random_permutation(problem.num_tasks, random_), 0} {
    best_.cost = problem.cost(best_.places);
  }

  CostedMapping run() {
    for (std::int64_t round = 0; !stop_.was_reached(); ++round) run_round(round);
    return std::move(best_);
  }

 private:
  // Later rounds anneal more slowly.
  void run_round(std::int64_t round) {
    const std::int64_t sweeps = std::min<std::int64_t>(30 << std::min<std::int64_t>(round, 4), 300);
    CostedMapping here = annealing_walk(problem_, random_permutation(problem_.num_tasks, random_),
                                        sweeps, random_, stop_);
    keep(here);
    const WalkKind kind = (round + thread_) % 2 == 0 ? kShortWalks : kLongWalks;
    const int most_disturbed = std::max(3, problem_.num_tasks / kind.tasks_per_disturbed);
    const int patience = kind.patience_per_disturbed * most_disturbed;
    int disturbed = 3;
    for (int idle = 0; idle < patience && !stop_.was_reached(); ++idle) {
      Permutation start = here.places;
      if (idle > 0) disturb(start, disturbed, random_);
      const CostedMapping found =
          tabu_walk(problem_, start, kind.steps_per_task * problem_.num_tasks, random_, stop_);
      disturbed = disturbed < most_disturbed ? disturbed + 1 : 3;
      if (found.cost < here.cost) idle = 0, disturbed = 3;
      if (found.cost <= here.cost) here = found;
      keep(here);
    }
  }

  void keep(const CostedMapping& found) {
    if (found.cost < best_.cost) best_ = found;
  }

  const QuadraticAssignment& problem_;
  SearchStop stop_;
  std::mt19937_64 random_;
  std::int64_t thread_;
  CostedMapping best_;
};

}  // namespace

Permutation random_permutation(int num_tasks, std::mt19937_64& random) {
  Permutation places(static_cast<std::size_t>(num_tasks));
  std::iota(places.begin(), places.end(), 0);
  std::ranges::shuffle(places, random);
  return places;
}

CostedMapping search_permutation(const QuadraticAssignment& problem, const SearchOptions& options) {
  problem.check_range();
  if (problem.num_tasks <= kMostTried) return best_of_all(problem);
  std::vector<CostedMapping> found(static_cast<std::size_t>(std::max(options.num_threads, 1)));
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < found.size(); ++thread) {
      threads.emplace_back(
          [&, thread] { found[thread] = IteratedSearch(problem, options, thread).run(); });
    }
  }
  return *std::ranges::min_element(found, {}, &CostedMapping::cost);
}

}  // namespace tandem::planner
