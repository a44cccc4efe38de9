// SPDX-License-Identifier: Apache-2.0
//
// One function for each format: blocks along a curve, and rows.
#include "apps/tensor/bench_kernels.h"

#include <cmath>
#include <utility>
#include <vector>

#include "apps/tensor/kernel_option.h"
#include "apps/tensor/tensor_output.h"
#include "common/median.h"
#include "tensor/sparse/generate/random_subset.h"
#include "tensor/sparse/kernels/mttkrp.h"
#include "tensor/sparse/kernels/row_matrix.h"

namespace tandem::apps {
namespace {

// The median of runs that take these seconds together, at least three.
template <typename Run>
double median_ms(double seconds, const Run& run) {
  run();  // pages and caches
  std::vector<double> times;
  for (const Stopwatch all; times.size() < 3 || all.ms() < seconds * 1e3;) {
    const Stopwatch watch;
    run();
    times.push_back(watch.ms());
  }
  return median(std::move(times));
}

template <typename Value>
std::vector<sparse::FactorMatrix<Value>> drawn_factors(const sparse::CooTensor& tensor,
                                                       std::size_t columns) {
  sparse::Random random(1);
  std::vector<sparse::FactorMatrix<Value>> factors;
  for (const std::uint64_t size : tensor.sizes) {
    sparse::FactorMatrix<Value>& factor = factors.emplace_back(size, columns);
    for (Value& value : factor.values) value = static_cast<Value>(random.uniform());
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
  constexpr double kManyCalls = 1e9;  // the best kernel is looked for, whatever it takes
  sparse::GeneratedKernels generated(kernel_cache_options());
  const auto kernel =
      kernel_for<Value>(o.kernels, generated, {blocks, factors, o.mode, out, pool}, kManyCalls);
  times.choice_ms = choosing.ms();
  if (kernel != nullptr) times.method += "-generated";
  times.ms = median_ms(o.seconds,
                       [&] { sparse::mttkrp<Value>(blocks, factors, o.mode, out, pool, kernel); });
  times.bytes = blocks.size_bytes();
  for (const auto& factor : factors) times.bytes += factor.values.size() * sizeof(Value);
  return times;
}

template <typename Value>
KernelTimes time_rows(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                      ThreadPool& pool) {
  KernelTimes times;
  times.method = "rows";
  const Stopwatch building;
  const auto matrix = sparse::row_matrix<Value>(tensor, pool);
  times.build_ms = building.ms();
  std::vector<Value> values(o.op == "spmv" ? matrix.rows : matrix.values.size());
  const auto bytes_of = [](const auto& array) { return array.size() * sizeof(Value); };
  times.bytes = matrix.size_bytes();
  if (o.op == "spmv") {
    const std::vector<Value> x(matrix.columns, Value{1});
    times.ms = median_ms(o.seconds, [&] { sparse::spmv<Value>(matrix, x, values, pool); });
    times.bytes += bytes_of(x) + bytes_of(values);
    return times;
  }
  const auto dense = drawn_factors<Value>(tensor, o.columns);
  times.bytes += bytes_of(dense[0].values) + bytes_of(dense[1].values);
  if (o.op == "sddmm") {
    times.ms = median_ms(o.seconds,
                         [&] { sparse::sddmm<Value>(matrix, dense[0], dense[1], values, pool); });
    times.bytes += bytes_of(values);
    return times;
  }
  sparse::FactorMatrix<Value> mixed = dense[1], out(matrix.rows, o.columns);
  const sparse::SparseAttention<Value> inputs{
      &dense[0], &dense[1], &mixed,
      static_cast<Value>(1 / std::sqrt(static_cast<double>(o.columns)))};
  times.ms =
      median_ms(o.seconds, [&] { sparse::sparse_attention<Value>(matrix, inputs, out, pool); });
  times.bytes += bytes_of(mixed.values) + bytes_of(out.values);
  return times;
}

template <typename Value>
KernelTimes time_in(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                    ThreadPool& pool) {
  const bool has_blocks = o.op == "mttkrp" || o.op == "spmm";
  return has_blocks ? time_blocks<Value>(o, tensor, pool) : time_rows<Value>(o, tensor, pool);
}

}  // namespace

KernelTimes time_kernel(const TensorBenchOptions& options, const sparse::CooTensor& tensor,
                        ThreadPool& pool) {
  return options.dtype == "f64" ? time_in<double>(options, tensor, pool)
                                : time_in<float>(options, tensor, pool);
}

}  // namespace tandem::apps
