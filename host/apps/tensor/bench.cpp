// SPDX-License-Identifier: Apache-2.0
//
// `tandem tensor bench FILE`: how long a kernel takes on a tensor, against the memory's speed.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/command_words.h"
#include "apps/json_text.h"
#include "apps/tensor/tensor_commands.h"
#include "apps/tensor/tensor_output.h"
#include "common/available_memory.h"
#include "common/error.h"
#include "tensor/sparse/files/read_tensor.h"
#include "tensor/sparse/formats/entry_order.h"
#include "tensor/sparse/generate/random_subset.h"
#include "tensor/sparse/kernels/mttkrp.h"

namespace tandem::apps {
namespace {

struct TensorBenchOptions {
  std::string path, op, dtype = "f32";
  std::size_t mode = 0, rank = 16, columns = 32;
  double seconds = 1;
  bool json = false;
  int threads = 0;
};

// Bytes per second of the best of some passes over memory that no cache holds.
double read_bandwidth(ThreadPool& pool) {
  constexpr std::size_t kWords = std::size_t{1} << 24, kPasses = 5;
  const std::vector<std::uint64_t> memory(kWords, 1);
  const auto threads = static_cast<std::size_t>(pool.num_threads());
  double best_ms = 0;
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    std::vector<std::uint64_t> sums(threads);
    const Stopwatch watch;
    pool.run(threads, [&](std::size_t part) {
      const auto at = [&](std::size_t p) {
        return memory.begin() + static_cast<std::ptrdiff_t>(kWords / threads * p);
      };
      sums[part] = std::accumulate(at(part), at(part + 1), std::uint64_t{0});
    });
    const double ms = watch.ms();
    TANDEM_CHECK_OP(std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}), ==,
                    kWords / threads * threads);
    if (pass == 0 || ms < best_ms) best_ms = ms;
  }
  return static_cast<double>(kWords * 8) / (best_ms / 1e3);
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
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

// Factors of all modes, and as much again for what threads add up.
void check_memory(const sparse::CooTensor& tensor, std::size_t columns) {
  double bytes = 0;
  for (const std::uint64_t size : tensor.sizes) {
    bytes += 2.0 * sizeof(double) * static_cast<double>(size) * static_cast<double>(columns);
  }
  const auto left = static_cast<double>(available_memory().left_bytes);
  if (bytes <= left) return;
  throw Error("tensor",
              fmt::format("factors of {} columns take up to {:.1f} GB here, and {:.1f} GB "
                          "are left; give fewer columns, or a tensor of shorter modes",
                          columns, bytes / 1e9, left / 1e9));
}

void check_bench(const TensorBenchOptions& o, const sparse::CooTensor& tensor) {
  if (o.op == "spmm" && tensor.order() != 2) {
    throw Error("tensor", "--op spmm multiplies a matrix; this tensor has order " +
                              std::to_string(tensor.order()) + ", for which --op mttkrp is");
  }
  if (o.op == "spmm" && o.mode != 0) throw Error("tensor", "--mode is for --op mttkrp");
  if (o.mode < tensor.order()) return check_memory(tensor, o.op == "spmm" ? o.columns : o.rank);
  throw Error("tensor", "there is no mode " + std::to_string(o.mode) +
                            "; the tensor has the modes 0 to " +
                            std::to_string(tensor.order() - 1));
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
nlohmann::ordered_json bench_json(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                                  ThreadPool& pool) {
  const std::size_t columns = o.op == "spmm" ? o.columns : o.rank;
  const Stopwatch building;
  const auto blocks = sparse::partition_blocks<Value>(tensor, pool);
  const double build_ms = building.ms();
  const auto factors = drawn_factors<Value>(tensor, columns);
  sparse::FactorMatrix<Value> out(tensor.sizes[o.mode], columns);
  const double ms =
      median_ms(o.seconds, [&] { sparse::mttkrp<Value>(blocks, factors, o.mode, out, pool); });
  std::size_t bytes = blocks.size_bytes();  // all that is read or written, once
  for (const auto& factor : factors) bytes += factor.values.size() * sizeof(Value);
  return {{"file", o.path},
          {"op", o.op},
          {"mode", o.mode},
          {o.op == "spmm" ? "columns" : "rank", columns},
          {"dtype", o.dtype},
          {"nnz", tensor.num_entries()},
          {"threads", pool.num_threads()},
          {"method", "morton-blocks"},
          {"blocks", blocks.num_blocks()},
          {"ms", ms},
          {"build_ms", build_ms},
          {"bytes", bytes},
          {"of_read_bandwidth", static_cast<double>(bytes) / (ms / 1e3) / read_bandwidth(pool)}};
}

void run_tensor_bench(const TensorBenchOptions& o) {
  ThreadPool pool(o.threads);
  sparse::CooTensor tensor = sparse::read_tensor(o.path, pool);
  check_bench(o, tensor);
  sparse::sum_duplicates(tensor, pool);
  const nlohmann::ordered_json result =
      o.dtype == "f64" ? bench_json<double>(o, tensor, pool) : bench_json<float>(o, tensor, pool);
  if (o.json) {
    fmt::print("{}\n", json_text(result));
  } else {
    fmt::print(
        "{} {}: {:.3f} ms on {} threads, {:.0f} % of the read bandwidth; built in {:.1f} ms\n",
        o.op, o.dtype, result["ms"].get<double>(), pool.num_threads(),
        100 * result["of_read_bandwidth"].get<double>(), result["build_ms"].get<double>());
  }
}

}  // namespace

void add_tensor_bench(CLI::App& tensor) {
  CLI::App* command = tensor.add_subcommand("bench", "Measure a kernel on a tensor");
  auto o = std::make_shared<TensorBenchOptions>();
  add_tensor_file(*command, o->path);
  command
      ->add_option(
          "--op", o->op,
          "mttkrp: times the factors of all modes but one; spmm: a matrix times a dense one")
      ->required()
      ->check(CLI::IsMember({"mttkrp", "spmm"}));
  command->add_option("--rank", o->rank, "columns of the factors of mttkrp")
      ->check(in_range(1, 1024));
  command->add_option("--columns", o->columns, "of the dense matrix of spmm")
      ->check(in_range(1, 4096));
  command->add_option("--mode", o->mode, "of the result of mttkrp, from 0")->check(count_value());
  command->add_option("--dtype", o->dtype, "of values and factors")
      ->check(CLI::IsMember({"f32", "f64"}));
  command->add_option("--seconds", o->seconds, "to repeat the kernel for")
      ->check(in_range(0, 3600));
  command->add_flag("--json", o->json, "print JSON");
  add_tensor_threads(*command, o->threads);
  command->callback([o] { run_tensor_bench(*o); });
}

}  // namespace tandem::apps
