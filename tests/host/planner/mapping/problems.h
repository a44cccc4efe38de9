// SPDX-License-Identifier: Apache-2.0
//
// Small mapping problems, and the least cost of all their mappings.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>

#include "planner/mapping/quadratic_assignment.h"

namespace tandem::planner {

enum class Shape { kSymmetric, kSymmetricFlow, kSymmetricDistance, kAny };

// Values from 0 to 9, also on the diagonals.
inline QuadraticAssignment random_problem(int num_tasks, Shape shape, std::mt19937_64& random) {
  const auto n = static_cast<std::size_t>(num_tasks);
  const auto matrix = [&](bool is_symmetric) {
    std::vector<std::int64_t> values(n * n);
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() % 10);
    for (std::size_t i = 0; is_symmetric && i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) values[i * n + j] = values[j * n + i];
    }
    return values;
  };
  QuadraticAssignment problem;
  problem.num_tasks = num_tasks;
  problem.flow = matrix(shape == Shape::kSymmetric || shape == Shape::kSymmetricFlow);
  problem.distance = matrix(shape == Shape::kSymmetric || shape == Shape::kSymmetricDistance);
  return problem;
}

// Tasks in a ring exchange 1 with both neighbours, half per direction; places form a ring of the
// same size, in another order.
inline QuadraticAssignment ring_problem(int num_tasks) {
  const auto n = static_cast<std::size_t>(num_tasks);
  QuadraticAssignment problem;
  problem.num_tasks = num_tasks;
  problem.flow.resize(n * n);
  problem.distance.resize(n * n);
  const auto position = [&](std::size_t place) { return place * 5 % n; };  // 5 divides no size used
  for (std::size_t i = 0; i < n; ++i) {
    problem.flow[i * n + (i + 1) % n] += 1;
    problem.flow[i * n + (i + n - 1) % n] += 1;
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t apart = (position(i) + n - position(j)) % n;
      problem.distance[i * n + j] = static_cast<std::int64_t>(std::min(apart, n - apart));
    }
  }
  return problem;
}

inline std::int64_t least_cost_of_all(const QuadraticAssignment& problem) {
  Permutation places(static_cast<std::size_t>(problem.num_tasks));
  std::iota(places.begin(), places.end(), 0);
  std::int64_t least = problem.cost(places);
  while (std::next_permutation(places.begin(), places.end())) {
    least = std::min(least, problem.cost(places));
  }
  return least;
}

}  // namespace tandem::planner
