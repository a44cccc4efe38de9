// SPDX-License-Identifier: Apache-2.0
//
// One function for each format: blocks along a curve, and rows.
#include "apps/tensor/bench_kernels.h"

#include <cmath>
#include <utility>
#include <vector>

#include "apps/tensor/kernel_option.h"
#include "apps/tensor/tensor_output.h"
#include "tensor/sparse/kernels/row_matrix.h"

namespace tandem::apps {
namespace {

constexpr double kManyCalls = 1e9;  // the best kernel is looked for, whatever it takes

template <typename Value>
std::vector<sparse::FactorMatrix<Value>> drawn_factors(const sparse::CooTensor& tensor,
                                                       std::size_t columns) {
  std::vector<sparse::FactorMatrix<Value>> factors;
  for (const std::uint64_t size : tensor.sizes) {
    factors.push_back(drawn_factor<Value>(size, columns));
  }
  return factors;
}

template <typename Value>
KernelTimes time_blocks(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                        ThreadPool& pool) {
  KernelTimes times;
  times.method = "morton-blocks";
  const Stopwatch building;
  const auto blocks = sparse::partition_blocks<Value>(tensor, pool);
  times.build_ms = building.ms();
  times.blocks = blocks.num_blocks();
  const auto factors = drawn_factors<Value>(tensor, o.op == "spmm" ? o.columns : o.rank);
  sparse::FactorMatrix<Value> out(tensor.sizes[o.mode], factors[0].columns);
  const Stopwatch choosing;
  sparse::GeneratedKernels generated(kernel_cache_options());
  const auto kernel =
      kernel_for<Value>(o.kernels, generated, {blocks, factors, o.mode, out, pool}, kManyCalls);
  note_choice(choosing, generated, times);
  if (kernel != nullptr) times.method += "-generated";
  times.ms = median_ms(o.seconds,
                       [&] { sparse::mttkrp<Value>(blocks, factors, o.mode, out, pool, kernel); });
  times.bytes = blocks.size_bytes();
  for (const auto& factor : factors) times.bytes += factor.values.size() * sizeof(Value);
  return times;
}

// Chooses the kernel of a product over rows, and measures it. run: calls it with a kernel.
void time_rows_kernel(const TensorBenchOptions& o, const sparse::KernelPattern& pattern,
                      FunctionRef<void(sparse::RowsFunction)> run, KernelTimes& times) {
  const Stopwatch choosing;
  sparse::GeneratedKernels generated(kernel_cache_options());
  const sparse::RowsFunction kernel =
      rows_kernel_for(o.kernels, generated, pattern, run, kManyCalls);
  note_choice(choosing, generated, times);
  if (kernel != nullptr) times.method += "-generated";
  times.ms = median_ms(o.seconds, [&] { run(kernel); });
}

template <typename Value, typename Stored>
void time_attention(const TensorBenchOptions& o, const sparse::RowMatrix<Value, Stored>& matrix,
                    const std::vector<sparse::FactorMatrix<Value>>& dense, ThreadPool& pool,
                    KernelTimes& times) {
  sparse::FactorMatrix<Value> mixed = dense[1], out(matrix.rows, o.columns);
  const sparse::SparseAttention<Value> inputs{
      &dense[0], &dense[1], &mixed,
      static_cast<Value>(1 / std::sqrt(static_cast<double>(o.columns)))};
  const auto run = [&](sparse::RowsFunction kernel) {
    sparse::sparse_attention<Value, Stored>(matrix, inputs, out, pool, kernel);
  };
  time_rows_kernel(o, sparse::rows_pattern<Stored>(sparse::KernelProduct::kAttention, out.stride),
                   run, times);
  times.bytes += (mixed.values.size() + out.values.size()) * sizeof(Value);
}

template <typename Value, typename Stored = Value>
KernelTimes time_rows(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                      ThreadPool& pool) {
  using sparse::KernelProduct;
  KernelTimes times;
  times.method = "rows";
  const Stopwatch building;
  const auto matrix = sparse::row_matrix<Value, Stored>(tensor, pool);
  times.build_ms = building.ms();
  std::vector<Value> values(o.op == "spmv" ? matrix.rows : matrix.values.size());
  const auto bytes_of = [](const auto& array) { return array.size() * sizeof(Value); };
  times.bytes = matrix.size_bytes();
  if (o.op == "spmv") {
    const std::vector<Value> x(matrix.columns, Value{1});
    const auto run = [&](sparse::RowsFunction kernel) {
      sparse::spmv<Value, Stored>(matrix, x, values, pool, kernel);
    };
    time_rows_kernel(o, sparse::rows_pattern<Stored>(KernelProduct::kSpmv, 1), run, times);
    times.bytes += bytes_of(x) + bytes_of(values);
    return times;
  }
  const auto dense = drawn_factors<Value>(tensor, o.columns);
  times.bytes += bytes_of(dense[0].values) + bytes_of(dense[1].values);
  if (o.op == "sddmm") {
    const auto run = [&](sparse::RowsFunction kernel) {
      sparse::sddmm<Value, Stored>(matrix, dense[0], dense[1], values, pool, kernel);
    };
    time_rows_kernel(o, sparse::rows_pattern<Stored>(KernelProduct::kSddmm, dense[0].stride), run,
                     times);
    times.bytes += bytes_of(values);
    return times;
  }
  time_attention<Value, Stored>(o, matrix, dense, pool, times);
  return times;
}

// A sparse matrix times a dense one, row by row.
template <typename Value, typename Stored = Value>
KernelTimes time_spmm_rows(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                           ThreadPool& pool) {
  KernelTimes times;
  times.method = "rows";
  const Stopwatch building;
  const auto matrix = sparse::row_matrix<Value, Stored>(tensor, pool);
  times.build_ms = building.ms();
  auto dense = drawn_factors<Value>(tensor, o.columns);
  const auto run = [&](sparse::RowsFunction kernel) {
    sparse::row_spmm<Value, Stored>(matrix, dense[1], dense[0], pool, kernel);
  };
  time_rows_kernel(o, sparse::rows_pattern<Stored>(sparse::KernelProduct::kSpmm, dense[0].stride),
                   run, times);
  times.bytes = matrix.size_bytes();
  for (const auto& factor : dense) times.bytes += factor.values.size() * sizeof(Value);
  return times;
}

// spmm is order 2 of mttkrp; where kernels may be chosen, rows are a second way.
template <typename Value>
KernelTimes time_spmm(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                      ThreadPool& pool) {
  const KernelTimes blocks = time_blocks<Value>(o, tensor, pool);
  if (o.kernels == "generic" || tensor.sizes[1] > (std::uint64_t{1} << 31)) return blocks;
  const KernelTimes rows = time_spmm_rows<Value>(o, tensor, pool);
  return rows.ms < blocks.ms ? rows : blocks;
}

template <typename Value>
KernelTimes time_in(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                    ThreadPool& pool) {
  if (o.op == "spmm") return time_spmm<Value>(o, tensor, pool);
  return o.op == "mttkrp" ? time_blocks<Value>(o, tensor, pool) : time_rows<Value>(o, tensor, pool);
}

}  // namespace

KernelTimes time_kernel(const TensorBenchOptions& options, const sparse::CooTensor& tensor,
                        ThreadPool& pool) {
  if (options.dtype == "bf16") {
    return options.op == "spmm" ? time_spmm_rows<float, sparse::Bf16>(options, tensor, pool)
                                : time_rows<float, sparse::Bf16>(options, tensor, pool);
  }
  return options.dtype == "f64" ? time_in<double>(options, tensor, pool)
                                : time_in<float>(options, tensor, pool);
}

}  // namespace tandem::apps
