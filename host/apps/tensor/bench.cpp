// SPDX-License-Identifier: Apache-2.0
//
// `tandem tensor bench FILE`: measures a kernel on a tensor, and compares it with the memory's
// speed.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/command_words.h"
#include "apps/exit_code.h"
#include "apps/json_text.h"
#include "apps/tensor/bench_kernels.h"
#include "apps/tensor/kernel_option.h"
#include "apps/tensor/tensor_commands.h"
#include "apps/tensor/tensor_output.h"
#include "common/error.h"
#include "tensor/sparse/files/read_tensor.h"
#include "tensor/sparse/formats/entry_order.h"

namespace tandem::apps {
namespace {

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

bool is_of_fibres(const TensorBenchOptions& o) { return o.op == "ttv" || o.op == "ttm"; }
bool has_mode(const TensorBenchOptions& o) { return o.op == "mttkrp" || is_of_fibres(o); }

void check_places(const TensorBenchOptions& o) {
  if (!o.devices.empty() && o.op != "spmv") throw Error("tensor", "--devices is for --op spmv");
  if (!o.devices.empty() && o.dtype != "f32")
    throw Error("tensor", "--devices multiplies in f32; leave out --dtype");
  if (o.partition == "adaptive" && (o.op != "mttkrp" || o.dtype != "f32")) {
    throw Error("tensor", "--partition adaptive is for --op mttkrp in f32");
  }
  if (o.kernels == "generated" && (!o.devices.empty() || o.partition == "adaptive")) {
    throw Error("tensor", "--devices and --partition adaptive have no generated kernels");
  }
}

// Of products over rows, each mode has one dense operand (attention: two), and each row its begin.
void check_operands(const TensorBenchOptions& o, const sparse::CooTensor& tensor) {
  if (is_of_fibres(o)) return;  // they look themselves
  const double value = o.dtype == "f64" ? sizeof(double) : sizeof(float);
  if (o.op == "mttkrp") return check_factor_memory(tensor, o.rank, value);
  if (o.op == "spmm") return check_factor_memory(tensor, o.columns, value);
  const auto rows = static_cast<double>(tensor.sizes[0]),
             columns = static_cast<double>(tensor.sizes[1]);
  const double begins = rows * sizeof(std::uint64_t);
  if (o.op == "spmv") {
    return check_dense_memory(begins + (rows + columns) * value, "vectors and begins of rows",
                              "a matrix with fewer rows and columns");
  }
  const double operands = o.op == "sddmm" ? 1 : 2;
  check_dense_memory(begins + operands * dense_bytes(tensor, o.columns, value),
                     fmt::format("dense operands of {} columns", o.columns),
                     "fewer columns, or a matrix with fewer rows and columns");
}

void check_bench(const TensorBenchOptions& o, const sparse::CooTensor& tensor) {
  if (!has_mode(o) && tensor.order() != 2) {
    throw Error("tensor", "--op " + o.op + " is for matrices; this tensor has order " +
                              std::to_string(tensor.order()) + ", for which --op mttkrp, ttv and " +
                              "ttm are");
  }
  check_places(o);
  if (o.op == "mttkrp" && o.dtype == "bf16") {
    throw Error("tensor", "--dtype bf16 is for products over rows and fibres, not for mttkrp");
  }
  if (!has_mode(o) && o.mode != 0) throw Error("tensor", "--mode is for --op mttkrp, ttv and ttm");
  if (o.mode >= tensor.order()) {
    throw Error("tensor", "there is no mode " + std::to_string(o.mode) +
                              "; the tensor has the modes 0 to " +
                              std::to_string(tensor.order() - 1));
  }
  check_operands(o, tensor);
}

// The whole takes as long as the slowest part: predicted_ms. `ms` is host time, in which an
// emulated card never pays.
void add_devices(const KernelTimes& times, nlohmann::ordered_json& json) {
  double longest = 0;
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const device::SparsePart& part : times.parts) {
    longest = std::max(longest, part.predicted_s);
    parts.push_back({{"device", part.device},
                     {"rows", part.last_row - part.first_row},
                     {"nnz", part.entries},
                     {"predicted_ms", part.predicted_s * 1e3},
                     {"predicted_by", part.is_modelled ? "model" : "measurement"},
                     {"host_ms", part.host_s * 1e3}});
    if (!part.host_reason.empty()) parts.back()["on_host"] = part.host_reason;
  }
  json["predicted_ms"] = longest * 1e3;
  json["error"] = times.error;
  json["devices"] = std::move(parts);
}

KernelTimes bench_times(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                        ThreadPool& pool) {
  if (!o.devices.empty()) return time_on_devices(o, tensor, pool);
  if (o.partition == "adaptive") return time_adaptive(o, tensor, pool);
  return is_of_fibres(o) ? time_fibres(o, tensor, pool) : time_kernel(o, tensor, pool);
}

nlohmann::ordered_json bench_json(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                                  const KernelTimes& times, ThreadPool& pool) {
  nlohmann::ordered_json json{{"file", o.path}, {"op", o.op}, {"mode", o.mode}};
  if (o.op == "mttkrp") {
    json["rank"] = o.rank;
  } else if (o.op != "spmv" && o.op != "ttv") {
    json["columns"] = o.columns;
  }
  json["dtype"] = o.dtype;
  json["nnz"] = tensor.num_entries();
  json["threads"] = pool.num_threads();
  json["method"] = times.method;
  if (times.blocks > 0) json["blocks"] = times.blocks;
  if (is_of_fibres(o)) json["fibres"] = times.fibres;
  json["ms"] = times.ms;
  json["build_ms"] = times.build_ms;
  if (times.compile_ms > 0) json["compile_ms"] = times.compile_ms;
  if (times.choice_ms > 0) json["choice_ms"] = times.choice_ms;
  json["bytes"] = times.bytes;
  json["of_read_bandwidth"] =
      static_cast<double>(times.bytes) / (times.ms / 1e3) / read_bandwidth(pool);
  if (times.grid_bits > 0) {
    json["grid_bits"] = times.grid_bits;
    json["rounds"] = times.rounds;
  }
  if (!times.parts.empty()) add_devices(times, json);
  return json;
}

void run_tensor_bench(const TensorBenchOptions& o) {
  ThreadPool pool(o.threads);
  sparse::CooTensor tensor = sparse::read_tensor(o.path, pool);
  check_bench(o, tensor);
  sparse::sum_duplicates(tensor, pool);
  const KernelTimes times = bench_times(o, tensor, pool);
  const nlohmann::ordered_json result = bench_json(o, tensor, times, pool);
  if (o.json) {
    fmt::print("{}\n", json_text(result));
  } else {
    if (result.contains("devices")) {
      fmt::print("{}: predicted {:.3f} ms\n", result["method"].get<std::string>(),
                 result["predicted_ms"].get<double>());
    }
    const double percent = std::round(100 * result["of_read_bandwidth"].get<double>());
    fmt::print(
        "{} {}: {:.3f} ms on {} threads, {:.0f} % of the read bandwidth{}; built in {:.1f} ms\n",
        o.op, o.dtype, result["ms"].get<double>(), pool.num_threads(), percent,
        percent > 100 ? " of memory (the caches hold the data)" : "",
        result["build_ms"].get<double>());
  }
  end_output();  // before the devices close
}

// Which blocks and devices a product has.
void add_bench_places(CLI::App& command, TensorBenchOptions& o) {
  command
      .add_option(
          "--partition", o.partition,
          "how mttkrp divides the tensor: morton: into fixed blocks; adaptive: into blocks whose "
          "options are tuned for the tensor and kept, as for one whose pattern drifts")
      ->check(CLI::IsMember({"morton", "adaptive"}))
      ->capture_default_str();
  command
      .add_option(
          "--devices", o.devices,
          "devices that share the rows of spmv by predicted time, such as cpu,xrt:0. Times are "
          "measured on the CPU and on GPUs; those of cards come from a model, so the time of an "
          "emulated card says nothing about a real one")
      ->delimiter(',')
      ->check(not_empty());
}

}  // namespace

void add_tensor_bench(CLI::App& tensor) {
  CLI::App* command = tensor.add_subcommand("bench", "Measure a kernel on a tensor");
  auto o = std::make_shared<TensorBenchOptions>();
  command->option_defaults()->always_capture_default();
  add_tensor_file(*command, o->path);
  command
      ->add_option(
          "--op", o->op,
          "what is computed. mttkrp: times the factors of all modes but one; ttv, ttm: times a "
          "vector or a dense "
          "matrix along one mode; of a matrix: spmv and spmm (times a vector, a dense matrix), "
          "sddmm (products of dense rows at its entries), fused-attention (sddmm, softmax and "
          "spmm)")
      ->required()
      ->check(CLI::IsMember({"mttkrp", "ttv", "ttm", "spmm", "spmv", "sddmm", "fused-attention"}));
  command->add_option("--rank", o->rank, "columns of the factors of mttkrp")
      ->check(in_range(1, 1024));
  command
      ->add_option("--columns", o->columns,
                   "columns of the dense matrices of ttm, spmm, sddmm and fused-attention")
      ->check(in_range(1, 4096));
  command
      ->add_option(
          "--mode", o->mode,
          "the mode, from 0: of the result of mttkrp, or of the vector or matrix of ttv and ttm")
      ->check(count_value());
  command
      ->add_option(
          "--dtype", o->dtype,
          "type of values and factors; bf16: of values only, in products over rows and fibres")
      ->check(CLI::IsMember({"f32", "f64", "bf16"}));
  add_tensor_kernels(*command, o->kernels);
  add_bench_places(*command, *o);
  command->add_option("--seconds", o->seconds, "seconds for which the kernel is repeated")
      ->check(in_range(0, 3600));
  command->add_flag("--json", o->json, "print JSON");
  add_tensor_threads(*command, o->threads);
  command->callback([o] { run_tensor_bench(*o); });
}

}  // namespace tandem::apps
