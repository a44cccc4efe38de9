// SPDX-License-Identifier: Apache-2.0
//
// (1 - sum x)^2 = 1 - sum x + 2 * sum over pairs, because x^2 = x for bits.
#include "planner/mapping/qubo.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/error.h"

namespace tandem::planner {
namespace {

// The coupling of a task at a place with another task at another place.
double pair_cost(const QuadraticAssignment& problem, int task, int place, int other,
                 int other_place) {
  return static_cast<double>(
      problem.flow_of(task, other) * problem.distance_of(place, other_place) +
      problem.flow_of(other, task) * problem.distance_of(other_place, place));
}

double own_cost(const QuadraticAssignment& problem, int task, int place) {
  return static_cast<double>(problem.flow_of(task, task) * problem.distance_of(place, place));
}

void check_encodable(const QuadraticAssignment& problem) {
  if (problem.num_tasks > kMostQuboTasks) {
    throw Error("qubo", std::to_string(problem.num_tasks) + " tasks need " +
                            std::to_string(problem.num_tasks * problem.num_tasks) +
                            " bits; a QUBO here has at most " + std::to_string(kMostQuboTasks) +
                            " tasks: use the direct search");
  }
  const auto is_negative = [](std::int64_t value) { return value < 0; };
  if (std::ranges::any_of(problem.flow, is_negative) ||
      std::ranges::any_of(problem.distance, is_negative)) {
    throw Error("qubo",
                "the penalty is proven for flows and distances of at least 0: use the "
                "direct search");
  }
}

// The most that this bit can cost beside any others.
double most_cost(const QuadraticAssignment& problem, int task, int place) {
  double sum = own_cost(problem, task, place);
  for (int other = 0; other < problem.num_tasks; ++other) {
    if (other == task) continue;
    double most = 0;
    for (int q = 0; q < problem.num_tasks; ++q) {
      if (q != place) most = std::max(most, pair_cost(problem, task, place, other, q));
    }
    sum += most;
  }
  return sum;
}

}  // namespace

double Qubo::energy(const std::vector<std::uint8_t>& bits) const {
  double sum = offset;
  for (int i = 0; i < num_bits; ++i) {
    if (bits[static_cast<std::size_t>(i)] == 0) continue;
    sum += linear[static_cast<std::size_t>(i)];
    for (int j = 0; j < i; ++j) {
      if (bits[static_cast<std::size_t>(j)] != 0) sum += coupling(i, j);
    }
  }
  return sum;
}

double proven_penalty(const QuadraticAssignment& problem) {
  check_encodable(problem);
  double most = 0;
  for (int task = 0; task < problem.num_tasks; ++task) {
    for (int place = 0; place < problem.num_tasks; ++place) {
      most = std::max(most, most_cost(problem, task, place));
    }
  }
  return std::floor(most / 2) + 1;
}

Qubo encode_qubo(const QuadraticAssignment& problem, double penalty) {
  check_encodable(problem);
  const int n = problem.num_tasks;
  Qubo qubo;
  qubo.num_bits = n * n;
  qubo.offset = 2 * penalty * n;
  const auto count = static_cast<std::size_t>(qubo.num_bits);
  qubo.linear.resize(count);
  qubo.couplings.resize(count * count);
  for (int bit = 0; bit < qubo.num_bits; ++bit) {
    const int task = bit / n, place = bit % n;
    qubo.linear[static_cast<std::size_t>(bit)] = own_cost(problem, task, place) - 2 * penalty;
    for (int other = 0; other < qubo.num_bits; ++other) {
      if (other == bit) continue;
      const bool excludes = other / n == task || other % n == place;
      qubo.couplings[static_cast<std::size_t>(bit) * count + static_cast<std::size_t>(other)] =
          excludes ? 2 * penalty : pair_cost(problem, task, place, other / n, other % n);
    }
  }
  return qubo;
}

std::optional<Permutation> decode_bits(const std::vector<std::uint8_t>& bits) {
  const auto n = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(bits.size()))));
  if (n * n != bits.size()) return std::nullopt;
  Permutation places(n, -1);
  std::vector<bool> is_taken(n);
  for (std::size_t bit = 0; bit < bits.size(); ++bit) {
    if (bits[bit] == 0) continue;
    if (places[bit / n] >= 0 || is_taken[bit % n]) return std::nullopt;
    places[bit / n] = static_cast<int>(bit % n);
    is_taken[bit % n] = true;
  }
  if (std::ranges::count(places, -1) > 0) return std::nullopt;
  return places;
}

std::vector<std::uint8_t> bits_of(const Permutation& places) {
  std::vector<std::uint8_t> bits(places.size() * places.size());
  for (std::size_t task = 0; task < places.size(); ++task) {
    bits[task * places.size() + static_cast<std::size_t>(places[task])] = 1;
  }
  return bits;
}

Ising ising_of(const Qubo& qubo) {
  Ising ising{qubo.offset, std::vector<double>(qubo.linear.size()),
              std::vector<double>(qubo.couplings.size())};
  const auto n = qubo.linear.size();
  for (std::size_t i = 0; i < n; ++i) {
    ising.offset += qubo.linear[i] / 2;
    ising.fields[i] += qubo.linear[i] / 2;
    for (std::size_t j = i + 1; j < n; ++j) {
      const double quarter = qubo.couplings[i * n + j] / 4;
      ising.offset += quarter;
      ising.fields[i] += quarter;
      ising.fields[j] += quarter;
      ising.couplings[i * n + j] = quarter;
    }
  }
  return ising;
}

}  // namespace tandem::planner
