// SPDX-License-Identifier: Apache-2.0
//
// cp_als against plain loops over all cells: dense residuals, and normal equations by elimination.
#include "tensor/sparse/kernels/cp_als.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "../random_tensor.h"
#include "common/error.h"
#include "tensor/sparse/formats/entry_order.h"
#include "tensor/sparse/kernels/cholesky.h"

namespace tandem::sparse {
namespace {

using test::Index;
using Factors = std::vector<FactorMatrix<double>>;

void for_cells(const Index& sizes, const std::function<void(const Index&)>& visit) {
  Index at(sizes.size());
  for (;;) {
    visit(at);
    std::size_t mode = sizes.size();
    while (mode > 0 && ++at[mode - 1] == sizes[mode - 1]) at[--mode] = 0;
    if (mode == 0) return;
  }
}

double model_at(const Factors& factors, const std::vector<double>& weights, const Index& at) {
  double sum = 0;
  for (std::size_t r = 0; r < weights.size(); ++r) {
    double product = weights[r];
    for (std::size_t m = 0; m < at.size(); ++m) product *= factors[m].row(at[m])[r];
    sum += product;
  }
  return sum;
}

double naive_fit(const CooTensor& tensor, const Factors& factors,
                 const std::vector<double>& weights) {
  auto entries = test::entries_of(tensor);
  double residual = 0, norm = 0;
  for_cells(tensor.sizes, [&](const Index& at) {
    const auto found = entries.find(at);
    const double value = found == entries.end() ? 0 : found->second;
    residual += std::pow(value - model_at(factors, weights, at), 2);
    norm += value * value;
  });
  return 1 - std::sqrt(residual / norm);
}

// x with matrix x = right, by elimination with pivots.
std::vector<double> eliminated(std::vector<std::vector<double>> matrix, std::vector<double> right) {
  const std::size_t n = right.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i) {
      if (std::abs(matrix[i][k]) > std::abs(matrix[pivot][k])) pivot = i;
    }
    std::swap(matrix[k], matrix[pivot]);
    std::swap(right[k], right[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double by = matrix[i][k] / matrix[k][k];
      for (std::size_t j = k; j < n; ++j) matrix[i][j] -= by * matrix[k][j];
      right[i] -= by * right[k];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) right[i] -= matrix[i][j] * right[j];
    right[i] /= matrix[i][i];
  }
  return right;
}

// One mode's least squares, by the Khatri-Rao product of the others, cell by cell. No weights.
void naive_update(const CooTensor& tensor, Factors& factors, std::size_t mode) {
  const auto entries = test::entries_of(tensor);
  const std::size_t rank = factors[0].columns;
  for (std::uint64_t row = 0; row < tensor.sizes[mode]; ++row) {
    std::vector<std::vector<double>> normal(rank, std::vector<double>(rank));
    std::vector<double> right(rank);
    for_cells(tensor.sizes, [&](const Index& at) {
      if (at[mode] != row) return;
      std::vector<double> products(rank, 1);
      for (std::size_t m = 0; m < at.size(); ++m) {
        for (std::size_t r = 0; m != mode && r < rank; ++r) products[r] *= factors[m].row(at[m])[r];
      }
      const auto found = entries.find(at);
      for (std::size_t a = 0; a < rank; ++a) {
        for (std::size_t b = 0; b < rank; ++b) normal[a][b] += products[a] * products[b];
        if (found != entries.end()) right[a] += products[a] * found->second;
      }
    });
    const std::vector<double> solved = eliminated(normal, right);
    std::copy(solved.begin(), solved.end(), factors[mode].row(row));
  }
}

CooTensor unique_tensor(const Index& sizes, std::size_t num_entries, unsigned seed) {
  ThreadPool pool(1);
  CooTensor tensor = test::random_tensor(sizes, num_entries, seed);
  sum_duplicates(tensor, pool);
  return tensor;
}

TEST(CpAls, FitsAsPlainLeastSquaresDoInEveryIteration) {
  const std::vector<Index> shapes{{6, 7}, {5, 4, 6}, {3, 4, 2, 5}};
  for (const Index& sizes : shapes) {
    const CooTensor tensor = unique_tensor(sizes, 60, 3);
    ThreadPool pool(2);
    Factors naive = initial_factors(tensor, 2, 9);
    const CpModel model = cp_als(tensor, naive, 4, pool);
    ASSERT_EQ(model.fits.size(), 4u);
    for (const double fit : model.fits) {
      for (std::size_t mode = 0; mode < sizes.size(); ++mode) naive_update(tensor, naive, mode);
      EXPECT_NEAR(fit, naive_fit(tensor, naive, {1, 1}), 1e-9);
    }
    EXPECT_NEAR(model.fits.back(), naive_fit(tensor, model.factors, model.weights), 1e-9);
  }
}

TEST(CpAls, NeverFitsWorseAndRanksAboveAModesSizeWork) {
  for (const std::size_t rank : {1, 5, 12}) {
    const CooTensor tensor = unique_tensor({9, 4, 7}, 120, 4);
    ThreadPool pool(3);
    const CpModel model = cp_als(tensor, initial_factors(tensor, rank, 2), 30, pool);
    for (std::size_t i = 1; i < model.fits.size(); ++i) {
      EXPECT_GE(model.fits[i], model.fits[i - 1] - 1e-9) << rank << " " << i;
    }
    EXPECT_NEAR(model.fits.back(), naive_fit(tensor, model.factors, model.weights), 1e-6);
    for (const FactorMatrix<double>& factor : model.factors) {
      for (std::size_t r = 0; r < rank; ++r) {
        double squares = 0;
        for (std::uint64_t row = 0; row < factor.rows; ++row) {
          squares += factor.row(row)[r] * factor.row(row)[r];
        }
        EXPECT_NEAR(squares, 1, 1e-9);
      }
    }
  }
}

TEST(CpAls, FindsATensorOfItsRank) {
  const Index sizes{8, 6, 7};
  CooTensor tensor(sizes);
  Factors truth = initial_factors(tensor, 3, 77);
  for (FactorMatrix<double>& factor : truth) {  // columns far from parallel: few iterations do
    for (double& value : factor.values) value -= 0.5;
  }
  for_cells(sizes, [&](const Index& at) { tensor.append(at, model_at(truth, {5, 2, 1}, at)); });
  ThreadPool pool(2);
  double best = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {  // some end in a local minimum
    best = std::max(best, cp_als(tensor, initial_factors(tensor, 3, seed), 300, pool).fits.back());
    EXPECT_LT(cp_als(tensor, initial_factors(tensor, 1, seed), 50, pool).fits.back(), 0.95);
  }
  EXPECT_GT(best, 0.999);
}

TEST(CpAls, TakesOrderOneZerosAndNoEntries) {
  ThreadPool pool(2);
  CooTensor line({4});
  line.append(Index{2}, 3);
  EXPECT_NEAR(cp_als(line, initial_factors(line, 1, 1), 1, pool).fits.back(), 1, 1e-12);
  const CooTensor empty({3, 4});
  EXPECT_EQ(cp_als(empty, initial_factors(empty, 2, 1), 2, pool).fits.back(), 1);
}

TEST(CpAls, TellsValuesWhoseSquaresOverflowOrVanish) {
  ThreadPool pool(1);
  for (const double value : {1e200, 1e-170}) {
    CooTensor tensor({2, 2});
    tensor.append(Index{0, 1}, value);
    EXPECT_THAT([&] { cp_als(tensor, initial_factors(tensor, 1, 1), 1, pool); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("scale the tensor's values")));
  }
}

TEST(Cholesky, SolvesAndTellsWhatIsNotPositiveDefinite) {
  Cholesky cholesky;
  ASSERT_TRUE(cholesky.factorise({4, 2, 2, 3}, 2));
  std::vector<double> x{10, 9};
  cholesky.solve(x.data());
  EXPECT_NEAR(x[0], 1.5, 1e-12);
  EXPECT_NEAR(x[1], 2, 1e-12);
  EXPECT_FALSE(cholesky.factorise({1, 1, 1, 1}, 2));
  EXPECT_FALSE(cholesky.factorise({0}, 1));
  EXPECT_FALSE(cholesky.factorise({std::nan("")}, 1));
}

}  // namespace
}  // namespace tandem::sparse
