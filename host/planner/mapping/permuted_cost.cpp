// SPDX-License-Identifier: Apache-2.0
//
// With u = flow[r] - flow[s] and v = distance[r] - distance[s] before r and s exchange their
// places, the delta of a pair i, j that keeps its places changes by (u[i] - u[j]) * (v[i] - v[j]),
// and by the same product over columns.
#include "planner/mapping/permuted_cost.h"

#include <utility>

#include "planner/mapping/wide_rows.h"

namespace tandem::planner {
namespace {

std::vector<double> transposed(const std::vector<double>& matrix, std::size_t n) {
  std::vector<double> result(matrix.size());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) result[j * n + i] = matrix[i * n + j];
  }
  return result;
}

void add_transpose(std::vector<double>& matrix, std::size_t n) {
  const std::vector<double> other = transposed(matrix, n);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] += other[i];
}

}  // namespace

PermutedCost::PermutedCost(const QuadraticAssignment& problem, Permutation places)
    : n_(problem.num_tasks),
      places_(std::move(places)),
      cost_(static_cast<double>(problem.cost(places_))),
      flow_(problem.flow.begin(), problem.flow.end()) {
  const auto n = static_cast<std::size_t>(n_);
  for (int i = 0; i < n_; ++i) {
    const int place = places_[static_cast<std::size_t>(i)];
    own_flow_.push_back(static_cast<double>(problem.flow_of(i, i)));
    own_distance_.push_back(static_cast<double>(problem.distance_of(place, place)));
    for (int j = 0; j < n_; ++j) {
      distance_.push_back(
          static_cast<double>(problem.distance_of(place, places_[static_cast<std::size_t>(j)])));
    }
  }
  const bool has_symmetric_flow = flow_ == transposed(flow_, n);
  const bool has_symmetric_distance = distance_ == transposed(distance_, n);
  is_symmetric_ = has_symmetric_flow || has_symmetric_distance;
  if (is_symmetric_) {
    add_transpose(has_symmetric_distance ? flow_ : distance_, n);
  } else {
    flow_in_ = transposed(flow_, n);
    distance_in_ = transposed(distance_, n);
  }
}

double PermutedCost::delta(int task, int other) const {
  const auto i = static_cast<std::size_t>(task), j = static_cast<std::size_t>(other);
  const auto sum = [&](const std::vector<double>& flow, const std::vector<double>& distance) {
    const double *a = row(flow, task), *b = row(flow, other);
    const double *c = row(distance, task), *d = row(distance, other);
    return crossed_sum(a, b, c, d, static_cast<std::size_t>(n_)) - (a[i] - b[i]) * (d[i] - c[i]) -
           (a[j] - b[j]) * (d[j] - c[j]);
  };
  const double own = (own_flow_[i] - own_flow_[j]) * (own_distance_[j] - own_distance_[i]);
  if (is_symmetric_) return sum(flow_, distance_) + own;
  const double between = (row(flow_, task)[j] - row(flow_, other)[i]) *
                         (row(distance_, other)[i] - row(distance_, task)[j]);
  return sum(flow_, distance_) + sum(flow_in_, distance_in_) + own + between;
}

void PermutedCost::swap_both(std::vector<double>& matrix, int task, int other) const {
  for (int k = 0; k < n_; ++k) std::swap(at(matrix, task, k), at(matrix, other, k));
  for (int k = 0; k < n_; ++k) std::swap(at(matrix, k, task), at(matrix, k, other));
}

void PermutedCost::swap(int task, int other, double known_delta) {
  cost_ += known_delta;
  swap_both(distance_, task, other);
  if (!is_symmetric_) swap_both(distance_in_, task, other);
  std::swap(own_distance_[static_cast<std::size_t>(task)],
            own_distance_[static_cast<std::size_t>(other)]);
  std::swap(places_[static_cast<std::size_t>(task)], places_[static_cast<std::size_t>(other)]);
}

void PermutedCost::difference(int task, int other, Difference& result) const {
  const auto set = [&](const std::vector<double>& matrix, std::vector<double>& to) {
    const double *a = row(matrix, task), *b = row(matrix, other);
    to.resize(static_cast<std::size_t>(n_));
    for (std::size_t k = 0; k < to.size(); ++k) to[k] = a[k] - b[k];
  };
  set(flow_, result.flow);
  set(distance_, result.distance);
  if (is_symmetric_) return;
  set(flow_in_, result.flow_in);
  set(distance_in_, result.distance_in);
}

SwapDeltas::SwapDeltas(const QuadraticAssignment& problem, Permutation places)
    : cost_(problem, std::move(places)),
      deltas_(static_cast<std::size_t>(problem.num_tasks) *
              static_cast<std::size_t>(problem.num_tasks)) {
  for (int task = 0; task < num_tasks(); ++task) {
    for (int other = task + 1; other < num_tasks(); ++other) {
      row(task)[other] = cost_.delta(task, other);
    }
  }
}

// The change for every pair with `task`.
void SwapDeltas::renew(int task) {
  for (int other = 0; other < num_tasks(); ++other) {
    if (other == task) continue;
    row(std::min(task, other))[std::max(task, other)] = cost_.delta(task, other);
  }
}

void SwapDeltas::swap(int task, int other) {
  cost_.difference(task, other, difference_);
  const auto n = static_cast<std::size_t>(num_tasks());
  const auto add = [&](std::size_t i, const std::vector<double>& u, const std::vector<double>& v) {
    const std::size_t first = i + 1;  // the pairs with later tasks
    add_products(deltas_.data() + i * n + first, u[i], v[i], u.data() + first, v.data() + first,
                 n - first);
  };
  for (std::size_t i = 0; i + 1 < n; ++i) {
    add(i, difference_.flow, difference_.distance);
    if (!cost_.is_symmetric()) add(i, difference_.flow_in, difference_.distance_in);
  }
  // The pairs that changed their places, from the start.
  cost_.swap(task, other, cost_.delta(task, other));
  renew(task);
  renew(other);
}

}  // namespace tandem::planner
