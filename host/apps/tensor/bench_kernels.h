// SPDX-License-Identifier: Apache-2.0
//
// time_kernel: measures a kernel of `tandem tensor bench` on a tensor.
//
// Dense operands are pseudo-random. The time is the median of the runs, without the first one.
// Threads: one caller; `pool` runs the kernels. Errors: those of the kernels' formats.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/tensor/tensor_output.h"
#include "common/median.h"
#include "common/thread_pool.h"
#include "device/sparse_unit.h"
#include "tensor/sparse/formats/coo_tensor.h"
#include "tensor/sparse/generate/random_subset.h"
#include "tensor/sparse/generated/generated_kernels.h"
#include "tensor/sparse/kernels/mttkrp.h"

namespace tandem::apps {

struct TensorBenchOptions {
  std::string path, op, dtype = "f32", kernels = "auto", partition = "morton";
  std::vector<std::string> devices;  // of spmv; empty: the CPU alone
  std::size_t mode = 0, rank = 16, columns = 32;
  double seconds = 1;
  bool json = false;
  int threads = 0;
};

struct KernelTimes {
  std::string method;
  std::size_t blocks = 0;  // 0: the method has no blocks
  std::size_t fibres = 0;  // of ttv and ttm
  double ms = 0, build_ms = 0;
  double compile_ms = 0;  // of generated kernels that the cache did not have, before `ms`
  double choice_ms = 0;   // the rest of the search for a kernel: loading and measuring, before `ms`
  std::size_t bytes = 0;  // all bytes that are read or written, each counted once
  std::vector<device::SparsePart> parts;  // of the devices that share the rows
  // Those devices. They close once the result is printed, because they wait for calls that have not
  // returned.
  std::shared_ptr<void> devices;
  int grid_bits = 0;  // of an adaptive partition
  std::size_t rounds = 0;
  double error = 0;  // of the parts, from sums in f64, as a part of the sum of magnitudes
};

// Divides the time since a search for kernels began.
inline void note_choice(const Stopwatch& choosing, const sparse::GeneratedKernels& generated,
                        KernelTimes& times) {
  const sparse::KernelCacheStats stats = generated.cache().stats();
  times.compile_ms = stats.compiled > 0 ? stats.compile_s * 1e3 : 0;
  times.choice_ms = choosing.ms() - times.compile_ms;
}

// A dense operand of uniform values, the same in every run.
template <typename Value>
sparse::FactorMatrix<Value> drawn_factor(std::uint64_t rows, std::size_t columns) {
  sparse::Random random(1);
  sparse::FactorMatrix<Value> factor(rows, columns);
  for (Value& value : factor.values) value = static_cast<Value>(random.uniform());
  return factor;
}

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

// The tensor must have no duplicates and the order that the operation needs.
KernelTimes time_kernel(const TensorBenchOptions& options, const sparse::CooTensor& tensor,
                        ThreadPool& pool);

// The same for ttv and ttm (bench_fibres.cpp).
KernelTimes time_fibres(const TensorBenchOptions& options, const sparse::CooTensor& tensor,
                        ThreadPool& pool);

// The same for mttkrp over an adaptive partition: build_ms has its first rounds, choice_ms the
// search of its options (nearly 0 if they were kept).
KernelTimes time_adaptive(const TensorBenchOptions& options, const sparse::CooTensor& tensor,
                          ThreadPool& pool);

// The same for spmv over the devices that the options name (bench_devices.cpp). Errors: also those
// of the devices.
KernelTimes time_on_devices(const TensorBenchOptions& options, const sparse::CooTensor& tensor,
                            ThreadPool& pool);

}  // namespace tandem::apps
