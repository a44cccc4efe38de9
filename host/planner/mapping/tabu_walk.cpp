// SPDX-License-Identifier: Apache-2.0
//
// The tabu list holds, for every task and place, the step until which the task may not return.
#include "planner/mapping/tabu_walk.h"

#include <limits>

#include "planner/mapping/permuted_cost.h"
#include "planner/mapping/wide_rows.h"

namespace tandem::planner {
namespace {

struct Exchange {
  int task = -1, other = -1;
  double delta = std::numeric_limits<double>::infinity();
};

class TabuList {
 public:
  explicit TabuList(int num_tasks)
      : n_(static_cast<std::size_t>(num_tasks)), until_(n_ * n_, std::int64_t{-1}) {}

  bool forbids(int task, int other, const Permutation& places, std::int64_t step) const {
    return until_[at(task, places[static_cast<std::size_t>(other)])] >= step &&
           until_[at(other, places[static_cast<std::size_t>(task)])] >= step;
  }

  // The cube of a uniform number: mostly short bans, and some long ones.
  void forbid(int task, int place, std::int64_t step, std::mt19937_64& random) {
    constexpr double kLongestPerTask = 8;
    const double share = std::uniform_real_distribution<double>(0, 1)(random);
    until_[at(task, place)] = step + 1 +
                              static_cast<std::int64_t>(share * share * share * kLongestPerTask *
                                                        static_cast<double>(n_));
  }

 private:
  std::size_t at(int task, int place) const {
    return static_cast<std::size_t>(task) * n_ + static_cast<std::size_t>(place);
  }

  std::size_t n_;
  std::vector<std::int64_t> until_;
};

// `least_delta`: below it an exchange is allowed in any case.
Exchange best_exchange(const SwapDeltas& deltas, const TabuList& tabu, std::int64_t step,
                       double least_delta, std::mt19937_64& random) {
  Exchange best;
  std::uint64_t num_equal = 0;
  for (int i = 0; i < deltas.num_tasks(); ++i) {
    const double* row = deltas.row(i);
    const auto num_later = static_cast<std::size_t>(deltas.num_tasks() - i - 1);
    if (least_of(row + i + 1, num_later) > best.delta) continue;
    for (int j = i + 1; j < deltas.num_tasks(); ++j) {
      if (row[j] > best.delta) continue;
      if (row[j] >= least_delta && tabu.forbids(i, j, deltas.places(), step)) continue;
      num_equal = row[j] < best.delta ? 1 : num_equal + 1;
      if (num_equal == 1 || random() % num_equal == 0) best = {i, j, row[j]};
    }
  }
  return best;
}

}  // namespace

CostedMapping tabu_walk(const QuadraticAssignment& problem, const Permutation& start,
                        std::int64_t steps, std::mt19937_64& random, SearchStop& stop) {
  SwapDeltas deltas(problem, start);
  TabuList tabu(problem.num_tasks);
  Permutation best_places = start;
  double best_cost = deltas.cost();
  for (std::int64_t step = 0; step < steps && !stop.is_reached(); ++step) {
    const Exchange exchange = best_exchange(deltas, tabu, step, best_cost - deltas.cost(), random);
    if (exchange.task < 0) continue;  // all are forbidden: bans run out
    const Permutation& places = deltas.places();
    tabu.forbid(exchange.task, places[static_cast<std::size_t>(exchange.task)], step, random);
    tabu.forbid(exchange.other, places[static_cast<std::size_t>(exchange.other)], step, random);
    deltas.swap(exchange.task, exchange.other);
    if (deltas.cost() < best_cost) {
      best_cost = deltas.cost();
      best_places = deltas.places();
    }
  }
  return {best_places, static_cast<std::int64_t>(best_cost)};
}

}  // namespace tandem::planner
