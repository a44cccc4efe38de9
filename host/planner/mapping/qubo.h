// SPDX-License-Identifier: Apache-2.0
//
// Qubo: a quadratic function of bits (quadratic unconstrained binary optimization).
//
// encode_qubo(): bit t * n + p is 1 if task t is at place p. The energy is the cost of the mapping
// plus penalty * (1 - sum)^2 for every task and every place. The penalty is floor(M / 2) + 1. M is
// the largest cost that one bit can add: max over t, p of flow[t][t] * distance[p][p] + sum over u
// of max over q of the terms between (t, p) and (u, q). With flows and distances >= 0 every minimum
// is then a mapping: removing the second bit of a task never raises the energy, and a missing bit
// costs twice the penalty.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/mapping/quadratic_assignment.h"

namespace tandem::planner {

// The most tasks that encode_qubo() and the samplers accept: 1,600 bits.
constexpr int kMostQuboTasks = 40;

struct Qubo {
  int num_bits = 0;
  double offset = 0;
  std::vector<double> linear;     // [num_bits]
  std::vector<double> couplings;  // [num_bits, num_bits] symmetric, 0 on the diagonal

  double coupling(int bit, int other) const { return row(bit)[other]; }
  const double* row(int bit) const {
    return couplings.data() + static_cast<std::size_t>(bit) * static_cast<std::size_t>(num_bits);
  }
  double energy(const std::vector<std::uint8_t>& bits) const;
};

// Throws Error for more than kMostQuboTasks tasks and for negative flows or distances.
double proven_penalty(const QuadraticAssignment& problem);
Qubo encode_qubo(const QuadraticAssignment& problem, double penalty);

// Returns nothing unless every task has one place and every place one task.
std::optional<Permutation> decode_bits(const std::vector<std::uint8_t>& bits);
std::vector<std::uint8_t> bits_of(const Permutation& places);

// The same function of spins s = 2 * bit - 1: offset + sum h[i] s[i] + sum over pairs J s[i] s[j].
struct Ising {
  double offset = 0;
  std::vector<double> fields;     // [num_bits] h
  std::vector<double> couplings;  // [num_bits, num_bits] J for i < j; 0 elsewhere
};
Ising ising_of(const Qubo& qubo);

}  // namespace tandem::planner
