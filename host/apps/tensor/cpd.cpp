// SPDX-License-Identifier: Apache-2.0
//
// `tandem tensor cpd FILE`: the tensor as a sum of outer products, by alternating least squares.
#include <spdlog/fmt/fmt.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/command_words.h"
#include "apps/json_text.h"
#include "apps/tensor/kernel_option.h"
#include "apps/tensor/tensor_commands.h"
#include "apps/tensor/tensor_output.h"
#include "tensor/sparse/files/read_tensor.h"
#include "tensor/sparse/formats/entry_order.h"
#include "tensor/sparse/kernels/cp_als.h"

namespace tandem::apps {
namespace {

struct CpdOptions {
  std::string path;
  std::size_t rank = 16, iterations = 20, seed = 1;
  bool json = false;
  int threads = 0;
  std::string kernels = "auto";
};

sparse::MttkrpChoice chosen_kernels(const CpdOptions& o, sparse::GeneratedKernels& generated,
                                    ThreadPool& pool) {
  return [&](const auto& tensor, auto factors, std::size_t mode, auto& out) {
    return kernel_for<double>(o.kernels, generated, {tensor, factors, mode, out, pool},
                              static_cast<double>(o.iterations));
  };
}

void run_cpd(const CpdOptions& o) {
  ThreadPool pool(o.threads);
  sparse::CooTensor tensor = sparse::read_tensor(o.path, pool);
  sparse::sum_duplicates(tensor, pool);
  check_factor_memory(tensor, o.rank, sizeof(double));
  const Stopwatch watch;
  sparse::GeneratedKernels generated(kernel_cache_options());
  const sparse::CpModel model =
      sparse::cp_als(tensor, sparse::initial_factors(tensor, o.rank, o.seed), o.iterations, pool,
                     chosen_kernels(o, generated, pool));
  const double ms = watch.ms();
  const double fit = model.fits.back();
  if (o.json) {
    const nlohmann::ordered_json json{{"file", o.path},
                                      {"sizes", tensor.sizes},
                                      {"nnz", tensor.num_entries()},
                                      {"rank", o.rank},
                                      {"iterations", o.iterations},
                                      {"seed", o.seed},
                                      {"threads", pool.num_threads()},
                                      {"generated", generated_keys(generated)},
                                      {"fit", fit},
                                      {"fits", model.fits},
                                      {"weights", model.weights},
                                      {"ms", ms}};
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}: rank {}, fit {:.6f} after {} iterations, {:.1f} ms on {} threads\n",
               sizes_words(tensor.sizes), o.rank, fit, o.iterations, ms, pool.num_threads());
  }
}

}  // namespace

void add_tensor_cpd(CLI::App& tensor) {
  CLI::App* command = tensor.add_subcommand("cpd", "Decompose a tensor into outer products");
  auto o = std::make_shared<CpdOptions>();
  command->option_defaults()->always_capture_default();
  add_tensor_file(*command, o->path);
  command->add_option("--rank", o->rank, "number of outer products")->check(in_range(1, 256));
  command->add_option("--iterations", o->iterations, "iterations of alternating least squares")
      ->check(in_range(1, 100000));
  command->add_option("--seed", o->seed, "seed of the first factors")->check(count_value());
  add_tensor_kernels(*command, o->kernels);
  command->add_flag("--json", o->json, "print JSON");
  add_tensor_threads(*command, o->threads);
  command->callback([o] { run_cpd(*o); });
}

}  // namespace tandem::apps
