// SPDX-License-Identifier: Apache-2.0
//
// find_minimum: the cheapest point of a costly function, by Bayesian optimisation.
//
// A Gaussian process with a squared exponential kernel models the costs seen so far; the next point
// is the one of many random ones with the greatest expected improvement. The first points fill the
// cube evenly. Deterministic for equal costs. Cost: beside the function about evaluations^3.
// Source: Jones, Schonlau, Welch, "Efficient Global Optimization", J. Global Optim. 13, 1998.
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/function_ref.h"

namespace tandem::sparse {

struct SearchOptions {
  std::size_t dimensions = 1;
  std::size_t evaluations = 24;
  std::uint64_t seed = 1;
};

struct Evaluation {
  std::vector<double> point;  // [dimensions] each in [0, 1]
  double cost = 0;
};

// What the model says of a point, in the costs' units.
struct Prediction {
  double mean = 0, deviation = 0;
};

// evaluations: at least one.
Prediction predict(std::span<const Evaluation> evaluations, std::span<const double> point);

// By how much a cost of this prediction lies below `best`, on average.
double expected_improvement(const Prediction& prediction, double best);

// cost: must be finite. Returns all evaluations in their order. Throws Error without any.
std::vector<Evaluation> find_minimum(const SearchOptions& options,
                                     FunctionRef<double(std::span<const double> point)> cost);

// The cheapest one, the first of equals.
const Evaluation& cheapest(std::span<const Evaluation> evaluations);

}  // namespace tandem::sparse
