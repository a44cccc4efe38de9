// SPDX-License-Identifier: Apache-2.0
//
// Cholesky: the factor L of a small symmetric positive definite matrix, and solutions with it.
//
// factorise() reads the lower triangle and returns whether all pivots are well above rounding
// errors. Simple loops: the matrix has only as many rows as a decomposition has columns. Threads:
// solve() from any.
#pragma once

#include <cstddef>
#include <vector>

namespace tandem::sparse {

class Cholesky {
 public:
  // matrix: [n, n], symmetric. False for a matrix that is not positive definite, or nearly so.
  bool factorise(std::vector<double> matrix, std::size_t n);

  // x = matrix^-1 x. x: [n]
  void solve(double* x) const;

 private:
  double& at(std::size_t i, std::size_t j) { return lower_[i * n_ + j]; }
  double at(std::size_t i, std::size_t j) const { return lower_[i * n_ + j]; }

  std::size_t n_ = 0;
  std::vector<double> lower_;  // [n, n]
};

}  // namespace tandem::sparse
