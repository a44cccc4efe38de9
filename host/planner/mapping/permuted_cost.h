// SPDX-License-Identifier: Apache-2.0
//
// PermutedCost: a mapping and its cost, and the change of cost when two tasks exchange places.
// SwapDeltas: the same, with the changes of all pairs stored.
//
// Distances are stored in the order of the tasks, so all sums run over rows. If flow or distance
// is symmetric, the other matrix becomes the sum of itself and its transpose; one product suffices.
// Doubles hold whole numbers below 2^53 exactly. Threads: one. Ownership: copies the matrices.
// Cost: PermutedCost O(n) per delta and per swap. SwapDeltas O(1) per delta and O(n^2) per swap:
// O(1) for a pair without the exchanged tasks, O(n) for one with them (Taillard 1991).
#pragma once

#include <algorithm>
#include <vector>

#include "planner/mapping/quadratic_assignment.h"

namespace tandem::planner {

class PermutedCost {
 public:
  PermutedCost(const QuadraticAssignment& problem, Permutation places);

  int num_tasks() const { return n_; }
  const Permutation& places() const { return places_; }
  double cost() const { return cost_; }

  // The change of the cost if `task` and `other` exchange their places.
  double delta(int task, int other) const;
  // `known_delta`: delta(task, other).
  void swap(int task, int other, double known_delta);

  // Differences of two rows of flows and distances, and of two columns (..._in) if neither matrix
  // is symmetric.
  struct Difference {
    std::vector<double> flow, distance, flow_in, distance_in;  // [num_tasks]
  };
  // flow_in and distance_in stay empty if is_symmetric().
  void difference(int task, int other, Difference& result) const;
  bool is_symmetric() const { return is_symmetric_; }

 private:
  const double* row(const std::vector<double>& matrix, int task) const {
    return matrix.data() + static_cast<std::size_t>(task) * static_cast<std::size_t>(n_);
  }
  double& at(std::vector<double>& matrix, int task, int other) const {
    return matrix[static_cast<std::size_t>(task) * static_cast<std::size_t>(n_) +
                  static_cast<std::size_t>(other)];
  }
  void swap_both(std::vector<double>& matrix, int task, int other) const;

  int n_;
  bool is_symmetric_ = false;
  Permutation places_;
  double cost_ = 0;
  std::vector<double> flow_, distance_;        // [n, n]; distance_[i][j]: between places of i and j
  std::vector<double> flow_in_, distance_in_;  // transposed; empty where one product suffices
  std::vector<double> own_flow_, own_distance_;  // [n] the diagonals
};

class SwapDeltas {
 public:
  SwapDeltas(const QuadraticAssignment& problem, Permutation places);

  int num_tasks() const { return cost_.num_tasks(); }
  const Permutation& places() const { return cost_.places(); }
  double cost() const { return cost_.cost(); }
  // [num_tasks] The changes of `task` with every later task. Entries up to `task` are not valid.
  const double* row(int task) const {
    return deltas_.data() +
           static_cast<std::size_t>(task) * static_cast<std::size_t>(cost_.num_tasks());
  }
  double delta(int task, int other) const {
    return row(std::min(task, other))[std::max(task, other)];
  }
  void swap(int task, int other);

 private:
  double* row(int task) {
    return deltas_.data() +
           static_cast<std::size_t>(task) * static_cast<std::size_t>(cost_.num_tasks());
  }
  void renew(int task);

  PermutedCost cost_;
  PermutedCost::Difference difference_;
  std::vector<double> deltas_;  // [n, n]
};

}  // namespace tandem::planner
