// SPDX-License-Identifier: Apache-2.0
//
// MTTKRP over an adaptive partition, whose options are tuned for the tensor's structure and kept
// (partition_tuning.h).
#include <cstdlib>

#include "apps/tensor/bench_kernels.h"
#include "tensor/sparse/adaptive/adaptive_partition.h"
#include "tensor/sparse/adaptive/partition_tuning.h"
#include "tensor/sparse/generate/random_subset.h"

namespace tandem::apps {
namespace {

using sparse::AdaptiveOptions;
using sparse::AdaptivePartition;

constexpr std::size_t kTuningRuns = 16, kTuningIterations = 4, kRoundIterations = 12;

// A tensor with dense operands of all modes.
struct AdaptiveBench {
  AdaptiveBench(const sparse::CooTensor& from, std::size_t rank, ThreadPool& threads)
      : tensor(from), pool(threads) {
    sparse::Random random(1);
    for (const std::uint64_t size : tensor.sizes) {
      factors.emplace_back(size, rank);
      for (float& value : factors.back().values) value = static_cast<float>(random.uniform());
      outs.emplace_back(size, rank);
    }
  }

  // An iteration: a product of every mode, then a round where it pays.
  void iterate(AdaptivePartition& partition, std::size_t remaining) {
    for (std::size_t mode = 0; mode < factors.size(); ++mode) {
      partition.mttkrp(factors, mode, outs[mode], pool);
    }
    partition.adapt(remaining, factors.size(), pool);
  }

  double tuning_seconds(const AdaptiveOptions& options) {
    AdaptivePartition partition(tensor, options, pool);
    const Stopwatch watch;
    for (std::size_t i = kTuningIterations; i > 0; --i) iterate(partition, i);
    return watch.ms() / 1e3;
  }

  const sparse::CooTensor& tensor;
  ThreadPool& pool;
  std::vector<sparse::FactorMatrix<float>> factors, outs;
};

}  // namespace

KernelTimes time_adaptive(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                          ThreadPool& pool) {
  AdaptiveBench bench(tensor, o.rank, pool);
  KernelTimes times;
  times.method = "adaptive-blocks";
  const Stopwatch choosing;
  const AdaptiveOptions options = sparse::tuned_options(
      tensor, pool.num_threads(),
      {sparse::tuning_file(std::getenv("XDG_CACHE_HOME"), std::getenv("HOME")), kTuningRuns},
      [&](const AdaptiveOptions& candidate) { return bench.tuning_seconds(candidate); });
  times.choice_ms = choosing.ms();
  const Stopwatch building;
  AdaptivePartition partition(tensor, options, pool);
  for (std::size_t i = kRoundIterations; i > 0; --i) bench.iterate(partition, i * 100);
  times.build_ms = building.ms();
  times.blocks = partition.blocks().size();
  times.grid_bits = options.grid_bits;
  times.rounds = partition.stats().rounds;
  times.ms = median_ms(o.seconds,
                       [&] { partition.mttkrp(bench.factors, o.mode, bench.outs[o.mode], pool); });
  times.bytes = partition.num_entries() * (12 + 2 * tensor.order());
  for (const auto& factor : bench.factors) times.bytes += factor.values.size() * sizeof(float);
  return times;
}

}  // namespace tandem::apps
