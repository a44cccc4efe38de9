// SPDX-License-Identifier: Apache-2.0
//
// There are more runs of rows than threads, so that rows of unequal cost balance.
#include "tensor/sparse/kernels/row_matrix.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/error.h"
#include "tensor/sparse/formats/compressed_matrix.h"
#include "tensor/sparse/kernels/row_kernels.h"
#include "tensor/sparse/kernels/row_runs.h"

namespace tandem::sparse {
namespace {

constexpr std::size_t kRunsPerThread = 8;

// Calls body(first row, last row, worker) for runs of about equal rows and entries.
template <typename Value, typename Stored, typename Body>
void for_row_runs(const RowMatrix<Value, Stored>& matrix, ThreadPool& pool, const Body& body) {
  const auto runs = static_cast<std::size_t>(pool.num_threads()) * kRunsPerThread;
  const RunsOfRows bounds{matrix.begins.data(), matrix.rows, matrix.values.size(), runs};
  pool.run(runs, [&](std::size_t run, std::size_t worker) {
    body(bounds.row_at(run), bounds.row_at(run + 1), worker);
  });
}

// What a generated kernel gets of every run of rows.
template <typename Value, typename Stored>
RowsCall call_of(const RowMatrix<Value, Stored>& matrix) {
  RowsCall call;
  call.begins = matrix.begins.data();
  call.indices = matrix.indices.data();
  call.values = matrix.values.data();
  return call;
}

template <typename Value, typename Stored>
void run_kernel(const RowMatrix<Value, Stored>& matrix, const RowsCall& whole, ThreadPool& pool,
                RowsFunction kernel) {
  for_row_runs(matrix, pool, [&](std::uint64_t first, std::uint64_t last, std::size_t) {
    RowsCall call = whole;
    call.first = first;
    call.last = last;
    kernel(&call);
  });
}

template <typename Value, typename Stored>
SparseRow<Stored> row_of(const RowMatrix<Value, Stored>& matrix, std::uint64_t row) {
  const std::uint64_t begin = matrix.begins[row];
  return {matrix.indices.data() + begin, matrix.values.data() + begin,
          static_cast<std::size_t>(matrix.begins[row + 1] - begin)};
}

}  // namespace

template <typename Value, typename Stored>
RowMatrix<Value, Stored> row_matrix(CooTensor matrix, ThreadPool& pool) {
  if (matrix.order() == 2 && index_bits(matrix.sizes[1]) > 31) {
    throw Error("tensor",
                "a matrix of " + std::to_string(matrix.sizes[1]) +
                    " columns does not fit the kernels over rows; at most 2^31 are possible");
  }
  CompressedMatrix compressed = to_compressed(std::move(matrix), Major::kRows, pool);
  RowMatrix<Value, Stored> result;
  result.rows = compressed.rows;
  result.columns = compressed.columns;
  result.begins = std::move(compressed.begins);
  result.indices.resize(compressed.values.size());
  result.values.resize(compressed.values.size());
  compressed.minors.visit([&](auto indices) {
    for_parts(result.values.size(), pool, [&](std::size_t begin, std::size_t end) {
      for (std::size_t e = begin; e < end; ++e) {
        result.indices[e] = static_cast<std::int32_t>(indices[e]);
        result.values[e] = stored_as<Stored>(compressed.values[e]);
      }
    });
  });
  return result;
}

template <typename Value, typename Stored>
void spmv(const RowMatrix<Value, Stored>& matrix, std::span<const Value> x, std::span<Value> y,
          ThreadPool& pool, RowsFunction kernel) {
  TANDEM_CHECK_OP(x.size(), ==, matrix.columns);
  TANDEM_CHECK_OP(y.size(), ==, matrix.rows);
  if (kernel != nullptr) {
    RowsCall call = call_of(matrix);
    call.right = x.data();
    call.out = y.data();
    return run_kernel(matrix, call, pool, kernel);
  }
  for_row_runs(matrix, pool, [&](std::uint64_t first, std::uint64_t last, std::size_t) {
    for (std::uint64_t row = first; row < last; ++row) {
      y[row] = row_dot(row_of(matrix, row), x.data());
    }
  });
}

template <typename Value, typename Stored>
void row_spmm(const RowMatrix<Value, Stored>& matrix, const FactorMatrix<Value>& dense,
              FactorMatrix<Value>& out, ThreadPool& pool, RowsFunction kernel) {
  TANDEM_CHECK_OP(dense.rows, ==, matrix.columns);
  TANDEM_CHECK_OP(out.rows, ==, matrix.rows);
  TANDEM_CHECK_OP(out.stride, ==, dense.stride);
  if (kernel != nullptr) {
    RowsCall call = call_of(matrix);
    call.right = dense.row(0);
    call.out = out.row(0);
    return run_kernel(matrix, call, pool, kernel);
  }
  for_row_runs(matrix, pool, [&](std::uint64_t first, std::uint64_t last, std::size_t) {
    for (std::uint64_t row = first; row < last; ++row) {
      const SparseRow<Stored> entries = row_of(matrix, row);
      const RowMix<Stored, Value> mix{entries.indices, entries.values, entries.num_entries,
                                      dense.row(0), dense.stride};
      row_mix(mix, out.row(row));
    }
  });
}

template <typename Value, typename Stored>
void sddmm(const RowMatrix<Value, Stored>& matrix, const FactorMatrix<Value>& left,
           const FactorMatrix<Value>& right, std::span<Value> out, ThreadPool& pool,
           RowsFunction kernel) {
  TANDEM_CHECK_OP(left.rows, ==, matrix.rows);
  TANDEM_CHECK_OP(right.rows, ==, matrix.columns);
  TANDEM_CHECK_OP(left.stride, ==, right.stride);
  TANDEM_CHECK_OP(out.size(), ==, matrix.values.size());
  if (kernel != nullptr) {
    RowsCall call = call_of(matrix);
    call.left = left.row(0);
    call.right = right.row(0);
    call.out = out.data();
    return run_kernel(matrix, call, pool, kernel);
  }
  for_row_runs(matrix, pool, [&](std::uint64_t first, std::uint64_t last, std::size_t) {
    for (std::uint64_t row = first; row < last; ++row) {
      row_scores(row_of(matrix, row), {left.row(row), right.row(0), left.stride, Value{1}},
                 out.data() + matrix.begins[row]);
    }
  });
}

template <typename Value, typename Stored>
void sparse_attention(const RowMatrix<Value, Stored>& matrix, const SparseAttention<Value>& inputs,
                      FactorMatrix<Value>& out, ThreadPool& pool, RowsFunction kernel) {
  TANDEM_CHECK_OP(inputs.queries->rows, ==, matrix.rows);
  TANDEM_CHECK_OP(inputs.keys->rows, ==, matrix.columns);
  TANDEM_CHECK_OP(inputs.values->rows, ==, matrix.columns);
  TANDEM_CHECK_OP(inputs.keys->stride, ==, inputs.queries->stride);
  TANDEM_CHECK_OP(out.rows, ==, matrix.rows);
  TANDEM_CHECK_OP(out.stride, ==, inputs.values->stride);
  if (kernel != nullptr) {
    TANDEM_CHECK_OP(inputs.values->stride, ==, inputs.queries->stride);
    RowsCall call = call_of(matrix);
    call.left = inputs.queries->row(0);
    call.right = inputs.keys->row(0);
    call.mixed = inputs.values->row(0);
    call.scale = static_cast<double>(inputs.scale);
    call.out = out.row(0);
    return run_kernel(matrix, call, pool, kernel);
  }
  std::vector<RawVector<Value>> scores(static_cast<std::size_t>(pool.num_threads()));
  for_row_runs(matrix, pool, [&](std::uint64_t first, std::uint64_t last, std::size_t worker) {
    for (std::uint64_t row = first; row < last; ++row) {
      const SparseRow<Stored> entries = row_of(matrix, row);
      RawVector<Value>& own = scores[worker];
      own.resize(std::max(own.size(), entries.num_entries));
      row_scores(entries,
                 {inputs.queries->row(row), inputs.keys->row(0), inputs.keys->stride, inputs.scale},
                 own.data());
      softmax(own.data(), entries.num_entries);
      const RowMix<Value, Value> mix{entries.indices, own.data(), entries.num_entries,
                                     inputs.values->row(0), out.stride};
      row_mix(mix, out.row(row));
    }
  });
}

#define TANDEM_INSTANTIATE(Value, Stored)                                                        \
  template RowMatrix<Value, Stored> row_matrix(CooTensor, ThreadPool&);                          \
  template void spmv(const RowMatrix<Value, Stored>&, std::span<const Value>, std::span<Value>,  \
                     ThreadPool&, RowsFunction);                                                 \
  template void row_spmm(const RowMatrix<Value, Stored>&, const FactorMatrix<Value>&,            \
                         FactorMatrix<Value>&, ThreadPool&, RowsFunction);                       \
  template void sddmm(const RowMatrix<Value, Stored>&, const FactorMatrix<Value>&,               \
                      const FactorMatrix<Value>&, std::span<Value>, ThreadPool&, RowsFunction);  \
  template void sparse_attention(const RowMatrix<Value, Stored>&, const SparseAttention<Value>&, \
                                 FactorMatrix<Value>&, ThreadPool&, RowsFunction);
TANDEM_INSTANTIATE(float, float)
TANDEM_INSTANTIATE(double, double)
TANDEM_INSTANTIATE(float, Bf16)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::sparse
