// SPDX-License-Identifier: Apache-2.0
//
// Sums over rows use runs of fixed length, so they do not depend on the number of threads.
#include "tensor/sparse/kernels/cp_als.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/error.h"
#include "common/split_mix.h"
#include "tensor/sparse/kernels/cholesky.h"

namespace tandem::sparse {
namespace {

constexpr std::uint64_t kRowsOfRun = 2048;

using Factor = FactorMatrix<double>;
using SmallMatrix = std::vector<double>;  // [rank, rank]

// Calls body(run, first row, last row) for runs of kRowsOfRun rows.
template <typename Body>
void for_factor_runs(std::uint64_t rows, ThreadPool& pool, const Body& body) {
  pool.run((rows + kRowsOfRun - 1) / kRowsOfRun, [&](std::size_t run) {
    body(run, run * kRowsOfRun, std::min<std::uint64_t>(rows, (run + 1) * kRowsOfRun));
  });
}

// The sum over rows of what add(row, sums) adds. width: of the sums.
template <typename Add>
std::vector<double> row_sums(std::uint64_t rows, std::size_t width, ThreadPool& pool,
                             const Add& add) {
  std::vector<double> partials((rows + kRowsOfRun - 1) / kRowsOfRun * width);
  for_factor_runs(rows, pool, [&](std::size_t run, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t row = first; row < last; ++row) add(row, partials.data() + run * width);
  });
  std::vector<double> sums(width);
  for (std::size_t i = 0; i < partials.size(); ++i) sums[i % width] += partials[i];
  return sums;
}

SmallMatrix gram(const Factor& factor, ThreadPool& pool) {
  const std::size_t rank = factor.columns;
  return row_sums(factor.rows, rank * rank, pool, [&](std::uint64_t row, double* sums) {
    const double* const x = factor.row(row);
    for (std::size_t a = 0; a < rank; ++a) {
      for (std::size_t b = 0; b < rank; ++b) sums[a * rank + b] += x[a] * x[b];
    }
  });
}

// The element-wise product of all Gram matrices but that of `without` (order: none is left out).
SmallMatrix product_of(const std::vector<SmallMatrix>& grams, std::size_t without) {
  SmallMatrix product(grams[0].size(), 1);
  for (std::size_t mode = 0; mode < grams.size(); ++mode) {
    if (mode == without) continue;
    for (std::size_t i = 0; i < product.size(); ++i) product[i] *= grams[mode][i];
  }
  return product;
}

// With the least ridge that makes the matrix positive definite.
Cholesky factorised(const SmallMatrix& matrix, std::size_t rank) {
  double trace = 0;
  for (std::size_t r = 0; r < rank; ++r) trace += matrix[r * rank + r];
  if (!(trace > 0)) trace = 1;
  Cholesky result;
  if (result.factorise(matrix, rank)) return result;
  for (double ridge = 1e-13 * trace; ridge < trace; ridge *= 10) {
    SmallMatrix raised = matrix;
    for (std::size_t r = 0; r < rank; ++r) raised[r * rank + r] += ridge;
    if (result.factorise(std::move(raised), rank)) return result;
  }
  throw Error("tensor", "the decomposition overflows; scale the tensor's values");
}

// Each row of `of`, solved.
void solve_rows(const Cholesky& solver, const Factor& of, Factor& to, ThreadPool& pool) {
  for_factor_runs(of.rows, pool, [&](std::size_t, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t row = first; row < last; ++row) {
      std::copy_n(of.row(row), of.columns, to.row(row));
      solver.solve(to.row(row));
    }
  });
}

// Makes columns as long as 1. Returns their lengths; a column of zeros stays.
std::vector<double> normalise(Factor& factor, ThreadPool& pool) {
  const std::size_t rank = factor.columns;
  std::vector<double> lengths =
      row_sums(factor.rows, rank, pool, [&](std::uint64_t row, double* sums) {
        for (std::size_t r = 0; r < rank; ++r) sums[r] += factor.row(row)[r] * factor.row(row)[r];
      });
  for (double& length : lengths) length = std::sqrt(length);
  for_factor_runs(factor.rows, pool, [&](std::size_t, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t row = first; row < last; ++row) {
      for (std::size_t r = 0; r < rank; ++r) {
        if (lengths[r] > 0) factor.row(row)[r] /= lengths[r];
      }
    }
  });
  return lengths;
}

// |X - model|^2 = |X|^2 - 2 <X, model> + |model|^2. products: the MTTKRP of the last factor.
double fit_of(double norm, const CpModel& model, const Factor& products, const SmallMatrix& grams,
              ThreadPool& pool) {
  if (norm == 0) return 1;
  const std::size_t rank = model.weights.size();
  const Factor& last = model.factors.back();
  const std::vector<double> inner =
      row_sums(last.rows, rank, pool, [&](std::uint64_t row, double* sums) {
        for (std::size_t r = 0; r < rank; ++r) sums[r] += products.row(row)[r] * last.row(row)[r];
      });
  double residual = norm * norm;
  for (std::size_t a = 0; a < rank; ++a) {
    residual -= 2 * model.weights[a] * inner[a];
    for (std::size_t b = 0; b < rank; ++b) {
      residual += model.weights[a] * model.weights[b] * grams[a * rank + b];
    }
  }
  return 1 - std::sqrt(std::max(residual, 0.0)) / norm;
}

double length_of(const RawVector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

// From 0 to 1.
double uniform_of(std::uint64_t& state) {
  return static_cast<double>(next_split_mix(state) >> 11) * 0x1p-53;
}

}  // namespace

std::vector<FactorMatrix<double>> initial_factors(const CooTensor& tensor, std::size_t rank,
                                                  std::uint64_t seed) {
  std::vector<Factor> factors;
  for (const std::uint64_t size : tensor.sizes) {
    Factor& factor = factors.emplace_back(size, rank);
    for (std::uint64_t row = 0; row < size; ++row) {
      for (std::size_t r = 0; r < rank; ++r) factor.row(row)[r] = uniform_of(seed);
    }
  }
  return factors;
}

CpModel cp_als(const CooTensor& tensor, std::vector<FactorMatrix<double>> factors,
               std::size_t iterations, ThreadPool& pool, const MttkrpChoice& choice) {
  const auto blocks = partition_blocks<double>(tensor, pool);
  const double norm = length_of(tensor.values);
  constexpr double kLeastNorm = 1e-150;  // its square is a normal number
  const bool has_values =
      std::any_of(tensor.values.begin(), tensor.values.end(), [](double v) { return v != 0; });
  if (!std::isfinite(norm) || (has_values && norm < kLeastNorm)) {
    throw Error("tensor",
                "the squares of the values overflow or vanish together; scale the tensor's values");
  }
  CpModel model;
  model.factors = std::move(factors);
  const std::size_t order = tensor.order(), rank = model.factors[0].columns;
  std::vector<SmallMatrix> grams;
  std::vector<Factor> products;
  for (Factor& factor : model.factors) {
    normalise(factor, pool);
    grams.push_back(gram(factor, pool));
    products.emplace_back(factor.rows, rank);
  }
  std::vector<MttkrpFunction<double>> kernels(order, nullptr);
  for (std::size_t mode = 0; choice && mode < order; ++mode) {
    kernels[mode] = choice(blocks, model.factors, mode, products[mode]);
  }
  for (std::size_t iteration = 0; iteration < iterations; ++iteration) {
    for (std::size_t mode = 0; mode < order; ++mode) {
      mttkrp<double>(blocks, model.factors, mode, products[mode], pool, kernels[mode]);
      solve_rows(factorised(product_of(grams, mode), rank), products[mode], model.factors[mode],
                 pool);
      model.weights = normalise(model.factors[mode], pool);
      grams[mode] = gram(model.factors[mode], pool);
    }
    model.fits.push_back(fit_of(norm, model, products.back(), product_of(grams, order), pool));
  }
  return model;
}

}  // namespace tandem::sparse
