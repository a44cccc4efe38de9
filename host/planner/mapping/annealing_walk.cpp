// SPDX-License-Identifier: Apache-2.0
//
// Sampled differences give both ends of the schedule; between them the temperature falls by a
// factor per sweep.
#include "planner/mapping/annealing_walk.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/mapping/permuted_cost.h"

namespace tandem::planner {
namespace {

struct Temperatures {
  double first = 1, last = 1;
};

Temperatures sampled_temperatures(const PermutedCost& cost, std::mt19937_64& random) {
  constexpr int kSamples = 200;
  constexpr double kLeast = 0.1;  // costs are whole numbers
  std::uniform_int_distribution<int> any(0, cost.num_tasks() - 1);
  double sum = 0, least = 0;
  int count = 0;
  for (int i = 0; i < kSamples; ++i) {
    const int task = any(random), other = any(random);
    if (task == other) continue;
    const double size = std::abs(cost.delta(task, other));
    if (size <= 0) continue;
    sum += size;
    least = count == 0 ? size : std::min(least, size);
    ++count;
  }
  if (count == 0) return {};
  const double first = 0.5 * sum / count;
  return {first, std::clamp(least / 10, kLeast, first)};
}

}  // namespace

CostedMapping annealing_walk(const QuadraticAssignment& problem, const Permutation& start,
                             std::int64_t sweeps, std::mt19937_64& random, SearchStop& stop) {
  PermutedCost cost(problem, start);
  CostedMapping best{start, static_cast<std::int64_t>(cost.cost())};
  if (problem.num_tasks < 2) return best;
  const Temperatures range = sampled_temperatures(cost, random);
  const double factor = std::pow(range.last / range.first,
                                 1.0 / static_cast<double>(std::max<std::int64_t>(sweeps - 1, 1)));
  std::uniform_real_distribution<double> uniform(0, 1);
  double temperature = range.first;
  for (std::int64_t sweep = 0; sweep < sweeps; ++sweep, temperature *= factor) {
    for (int i = 0; i < cost.num_tasks(); ++i) {
      if (stop.is_reached()) return best;
      for (int j = i + 1; j < cost.num_tasks(); ++j) {
        const double delta = cost.delta(i, j);
        if (delta > 0 && uniform(random) >= std::exp(-delta / temperature)) continue;
        cost.swap(i, j, delta);
        if (cost.cost() < static_cast<double>(best.cost)) {
          best = {cost.places(), static_cast<std::int64_t>(cost.cost())};
        }
      }
    }
  }
  return best;
}

}  // namespace tandem::planner
