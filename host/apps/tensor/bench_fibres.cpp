// SPDX-License-Identifier: Apache-2.0
//
// A tensor times a vector or a matrix along one mode, over its fibres: each class of fibres has the
// kernel that suits it.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <span>

#include "apps/tensor/bench_kernels.h"
#include "apps/tensor/kernel_option.h"
#include "apps/tensor/tensor_output.h"
#include "common/available_memory.h"
#include "common/error.h"
#include "tensor/sparse/kernels/fibre_products.h"

namespace tandem::apps {
namespace {

constexpr double kManyFibreCalls = 1e9;  // the best kernels are looked for, whatever it takes

// The dense matrix of the mode and a row of the result for each entry, at most.
void check_fibre_memory(const TensorBenchOptions& o, const sparse::CooTensor& tensor) {
  const std::size_t columns = o.op == "ttm" ? o.columns + sparse::kFactorStep - 1 : 1;
  const double rows =
      static_cast<double>(tensor.sizes[o.mode]) + static_cast<double>(tensor.num_entries());
  const double bytes = rows * static_cast<double>(columns) * sizeof(double);
  const auto left = static_cast<double>(available_memory().left_bytes);
  if (bytes <= left) return;
  throw Error("tensor",
              fmt::format("dense rows of {} columns take up to {:.1f} GB here, and {:.1f} "
                          "GB are left; give fewer columns, or a shorter mode",
                          o.op == "ttm" ? o.columns : 1, bytes / 1e9, left / 1e9));
}

// The kernels of all classes that have fibres. run: computes with the kernels that it is given.
template <typename Stored, typename Run>
sparse::FibreKernels fibre_kernels(const TensorBenchOptions& o, sparse::KernelProduct product,
                                   std::span<const std::uint64_t> bounds, std::size_t stride,
                                   const Run& run, KernelTimes& times) {
  const Stopwatch choosing;
  sparse::FibreKernels kernels{};
  sparse::GeneratedKernels generated(kernel_cache_options());
  for (std::size_t c = 0; c < sparse::kFibreClasses; ++c) {
    if (bounds[c] == bounds[c + 1]) continue;
    const auto with = [&](sparse::RowsFunction kernel) {
      sparse::FibreKernels one{};
      one[c] = kernel;
      run(one);
    };
    kernels[c] =
        rows_kernel_for(o.kernels, generated, sparse::fibres_pattern<Stored>(product, stride, c),
                        with, kManyFibreCalls);
  }
  note_choice(choosing, generated, times);
  return kernels;
}

template <typename Value, typename Stored>
KernelTimes time_fibres_in(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                           ThreadPool& pool) {
  KernelTimes times;
  times.method = "fibres";
  const Stopwatch building;
  const auto fibres = sparse::fibre_tensor<Value, Stored>(tensor, o.mode, pool);
  times.build_ms = building.ms();
  times.fibres = fibres.num_fibres();
  const bool is_vector = o.op == "ttv";
  const auto dense = drawn_factor<Value>(is_vector ? 0 : fibres.rows.columns, o.columns);
  std::vector<Value> x(is_vector ? fibres.rows.columns : 0), y(is_vector ? times.fibres : 0);
  sparse::Random random(1);
  for (Value& value : x) value = static_cast<Value>(random.uniform());
  sparse::FactorMatrix<Value> out(is_vector ? 0 : times.fibres, dense.columns);
  const auto run = [&](const sparse::FibreKernels& kernels) {
    if (is_vector) {
      sparse::ttv<Value, Stored>(fibres, x, y, pool, kernels);
    } else {
      sparse::ttm<Value, Stored>(fibres, dense, out, pool, kernels);
    }
  };
  const auto product = is_vector ? sparse::KernelProduct::kTtv : sparse::KernelProduct::kTtm;
  const sparse::FibreKernels kernels =
      fibre_kernels<Stored>(o, product, fibres.bounds, is_vector ? 1 : dense.stride, run, times);
  if (std::ranges::any_of(kernels, [](auto kernel) { return kernel != nullptr; })) {
    times.method += "-generated";
  }
  times.ms = median_ms(o.seconds, [&] { run(kernels); });
  times.bytes = fibres.rows.size_bytes() + (x.size() + y.size()) * sizeof(Value);
  if (!is_vector) times.bytes += (dense.values.size() + out.values.size()) * sizeof(Value);
  return times;
}

}  // namespace

KernelTimes time_fibres(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                        ThreadPool& pool) {
  check_fibre_memory(o, tensor);
  if (o.dtype == "f64") return time_fibres_in<double, double>(o, tensor, pool);
  if (o.dtype == "bf16") return time_fibres_in<float, sparse::Bf16>(o, tensor, pool);
  return time_fibres_in<float, float>(o, tensor, pool);
}

}  // namespace tandem::apps
