// SPDX-License-Identifier: Apache-2.0
//
// A naive sparsifier in f64 that sorts everything, for tests.
//
// It holds the accumulated gradients of all ranks and asks a rule which indices each rank selects.
// Gradients are multiples of 1/256, so f32 and f64 agree exactly where nothing is divided.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/collectives/sparsifier/training.h"

namespace tandem::collectives::test {

using Reals = std::vector<double>;
using Places = std::set<std::uint32_t>;
constexpr int kRanks = 4;
constexpr std::uint64_t kValues = 1000;
constexpr std::uint64_t kTarget = 50;  // at density 0.05

// What the ranks select of their accumulated gradients in a step.
struct Step {
  std::uint64_t step;
  std::vector<Reals> accumulated;  // [ranks, values]
};
using Rule = std::function<std::vector<Places>(const Step&)>;

Reals sorted_magnitudes(const Reals& values);  // descending
double mean_magnitude(const Reals& values);
// The `count` largest magnitudes of [begin, end); lower places of equal ones.
Places largest(const Reals& values, std::size_t count, std::uint32_t begin = 0,
               std::uint32_t end = kValues);
Places at_least(const Reals& values, double threshold, std::uint32_t begin = 0,
                std::uint32_t end = kValues);
std::vector<Places> each_rank(const Step& step, const std::function<Places(const Reals&)>& select);
Places union_of(const std::vector<Places>& selected);

Training four_ranks(const std::string& name, std::uint64_t steps = 20);
void expect_step_is(const StepResult& step, std::map<std::uint32_t, double> mean);
void expect_as_reference(const Training& training, ClearingRule clearing, const Rule& rule);

}  // namespace tandem::collectives::test
