// SPDX-License-Identifier: Apache-2.0
//
// A row costs about as much as an entry: its sum begins and ends.
#include "cpu/sparse_unit.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "common/error.h"
#include "common/median.h"
#include "tensor/sparse/kernels/row_kernels.h"

namespace tandem::device::cpu {

SparseRates CpuSparseUnit::rates(const SparseRows& matrix, Deadline deadline) {
  constexpr int kProducts = 5;
  load(matrix, deadline);
  const std::vector<float> x(matrix.columns, 1.0f);
  std::vector<float> y(matrix.rows());
  std::vector<double> times;
  for (int i = 0; i <= kProducts; ++i) {
    start(x, deadline);
    const double seconds = finish(y, deadline).front().host_s;
    if (i > 0) times.push_back(seconds);  // the first one brings pages and caches
  }
  const auto work = static_cast<double>(matrix.rows() + matrix.entries());
  SparseRates rates;
  rates.row_s = rates.entry_s = median(times) / std::max(work, 1.0);
  return rates;
}

void CpuSparseUnit::load(const SparseRows& rows, Deadline) {
  if (rows.columns > std::uint64_t{std::numeric_limits<std::int32_t>::max()} + 1) {
    throw Error("cpu", "a matrix of " + std::to_string(rows.columns) +
                           " columns does not fit the products; at most 2^31 are possible");
  }
  sparse::RowMatrix<float> matrix;
  matrix.rows = rows.rows();
  matrix.columns = rows.columns;
  matrix.begins.resize(rows.rows() + 1);
  matrix.indices.resize(rows.entries());
  matrix.values.resize(rows.entries());
  const std::uint64_t first = rows.begins.empty() ? 0 : rows.begins.front();
  matrix.begins[0] = 0;
  for (std::uint64_t row = 0; row < rows.rows(); ++row) {
    matrix.begins[row + 1] = rows.begins[row + 1] - first;
  }
  std::copy_n(rows.indices + first, rows.entries(), matrix.indices.begin());
  std::copy_n(rows.values + first, rows.entries(), matrix.values.begin());
  matrix_ = std::move(matrix);
}

void CpuSparseUnit::start(std::span<const float> x, Deadline) { x_ = x; }

std::vector<SparsePart> CpuSparseUnit::finish(std::span<float> y, Deadline) {
  const auto begin = std::chrono::steady_clock::now();
  sparse::spmv<float>(matrix_, x_, y, pool_);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  return {{name(), 0, matrix_.rows, matrix_.values.size(), 0, false, passed.count(), ""}};
}

void CpuSparseUnit::on_host(const SparseRows& rows, std::span<const float> x,
                            std::span<float> y) const {
  TANDEM_CHECK_OP(y.size(), ==, rows.rows());
  for (std::uint64_t row = 0; row < y.size(); ++row) {
    const std::uint64_t begin = rows.begins[row];
    const auto entries = static_cast<std::size_t>(rows.begins[row + 1] - begin);
    y[row] = sparse::row_dot(
        sparse::SparseRow<float>{rows.indices + begin, rows.values + begin, entries}, x.data());
  }
}

}  // namespace tandem::device::cpu
