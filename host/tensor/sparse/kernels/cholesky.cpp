// SPDX-License-Identifier: Apache-2.0
//
// Computes the factor row by row, as in textbooks.
#include "tensor/sparse/kernels/cholesky.h"

#include <cmath>
#include <utility>

namespace tandem::sparse {

bool Cholesky::factorise(std::vector<double> matrix, std::size_t n) {
  constexpr double kLeastPivot = 1e-14;  // relative to the row's own diagonal
  n_ = n;
  lower_ = std::move(matrix);
  for (std::size_t j = 0; j < n; ++j) {
    const double diagonal = at(j, j);
    double pivot = diagonal;
    for (std::size_t k = 0; k < j; ++k) pivot -= at(j, k) * at(j, k);
    if (!(pivot > kLeastPivot * diagonal)) return false;
    at(j, j) = std::sqrt(pivot);
    for (std::size_t i = j + 1; i < n; ++i) {
      double sum = at(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
      at(i, j) = sum / at(j, j);
    }
  }
  return true;
}

void Cholesky::solve(double* x) const {
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= at(i, k) * x[k];
    x[i] /= at(i, i);
  }
  for (std::size_t i = n_; i-- > 0;) {
    for (std::size_t k = i + 1; k < n_; ++k) x[i] -= at(k, i) * x[k];
    x[i] /= at(i, i);
  }
}

}  // namespace tandem::sparse
