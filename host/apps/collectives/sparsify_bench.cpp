// SPDX-License-Identifier: Apache-2.0
//
// `tandem sparsify-bench`: what each sparsifier sends and how long it selects, on gradients that
// change from step to step.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/collectives/command.h"
#include "apps/collectives/sparsify_run.h"
#include "apps/command_words.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

struct SparsifyBenchOptions {
  std::string gradients;
  std::uint64_t synthetic = 0;
  double skew = 1;
  SparsifyRunOptions run;
  std::vector<std::string> sparsifiers;
  std::string sidco_fit = "exponential";
  std::string scheme = "allgather_sparse";
  std::string wire = "f32";
  int threads = 1;
  bool json = false;
};

void add_sparsify_options(CLI::App& command, SparsifyBenchOptions& options) {
  command.add_option("--gradients", options.gradients, "folder of gradient-<i>.f32")
      ->check(CLI::ExistingDirectory);
  command.add_option("--synthetic", options.synthetic, "values of a synthetic gradient")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32));
  command.add_option("--skew", options.skew, "deviation of the logarithm of the layers' scales")
      ->check(in_range(0, 10))
      ->capture_default_str();
  command
      .add_option("--density", options.run.sparsifier.density,
                  "share of the values to send, 0 to 1")
      ->capture_default_str();
  command.add_option("--world", options.run.world, "number of ranks, which are threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--steps", options.run.steps, "steps, each with one gradient of every rank")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}))
      ->capture_default_str();
  command
      .add_option("--sparsifiers", options.sparsifiers,
                  "sparsifiers to measure, separated by commas (default: all)")
      ->delimiter(',');
  command.add_option("--threads", options.threads, "threads with which a rank selects")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--seed", options.run.sparsifier.seed, "seed of gradients and draws")
      ->check(count_value())
      ->capture_default_str();
}

void add_algorithm_options(CLI::App& command, SparsifyBenchOptions& options) {
  auto& sparsifier = options.run.sparsifier;
  command
      .add_option("--scheme", options.scheme, "scheme by which ranks exchange their own entries")
      ->capture_default_str();
  command.add_option("--wire", options.wire, "type in which values are sent")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->capture_default_str();
  command
      .add_option("--bandwidth-gbps", options.run.gbit_per_s,
                  "bandwidth of a rank's simulated link, in gigabits per second and direction; "
                  "reports exchange_ms and "
                  "dense_ms")
      ->check(positive());
  command
      .add_option("--latency-us", options.run.latency_us,
                  "latency of a simulated message, in microseconds")
      ->check(not_negative())
      ->capture_default_str();
  command.add_flag("--published-control", sparsifier.published_control,
                   "micro, exdyna: the published steps of the threshold");
  command.add_flag("--only-own", sparsifier.only_own_entries,
                   "topk: send the own entries, not the union");
  command
      .add_option("--sidco-fit", options.sidco_fit,
                  "sidco: distribution that is fitted to the values")
      ->check(CLI::IsMember(collectives::sidco_fit_names()))
      ->capture_default_str();
  command.add_option("--local-steps", sparsifier.local_steps, "chunk_topk: gradients per exchange")
      ->capture_default_str();
  command.add_option(
      "--hard-threshold", sparsifier.hard_threshold,
      "hard_threshold: the threshold lambda (default: 1 / (2 sqrt k), for k values to send)");
  command.add_option("--momentum", sparsifier.momentum, "dgc: momentum of the velocity")
      ->capture_default_str();
}

nlohmann::json measurement_json(const SparsifyBenchOptions& options, std::uint64_t num_values,
                                const SparsifyMeasurement& measured) {
  nlohmann::json line = {{"name", measured.name},
                         {"clears", measured.clears},
                         {"values", num_values},
                         {"world", options.run.world},
                         {"steps", options.run.steps},
                         {"threads", options.threads},
                         {"wire", options.wire},
                         {"density", options.run.sparsifier.density},
                         {"density_sent", measured.density_sent},
                         {"density_all_steps", measured.density_all},
                         {"build_up", measured.build_up},
                         {"inefficiency", measured.inefficiency},
                         {"select_ms", measured.select_ms},
                         {"select_mean_ms", measured.select_mean_ms},
                         {"accumulate_ms", measured.accumulate_ms},
                         {"plain_read_ms", measured.plain_read_ms},
                         {"of_plain_read", measured.of_plain_read},
                         {"rest_ms", measured.rest_ms},
                         {"update_ms", measured.update_ms},
                         {"residual_norm", measured.residual_norm}};
  if (options.run.gbit_per_s > 0) {
    line["gbit_per_s"] = options.run.gbit_per_s;
    line["exchange_ms"] = measured.exchange_ms;
    line["dense_ms"] = measured.dense_ms;
  }
  if (measured.of_plain_read == 0) line["of_plain_read"] = nullptr;
  return line;
}

void print_measurement(const SparsifyMeasurement& measured) {
  fmt::print("{:<15} {:<16} {:>12.6f} {:>9.3f} {:>12.3f} {:>10.3f} {:>13.2f}\n", measured.name,
             measured.clears, measured.density_sent, measured.build_up, measured.inefficiency,
             measured.select_ms, measured.of_plain_read);
}

void run_sparsify_bench(SparsifyBenchOptions& options) {
  if (options.gradients.empty() == (options.synthetic == 0)) {
    throw Error("sparsify-bench", "name --gradients DIR or --synthetic N, one of the two");
  }
  auto& sparsifier = options.run.sparsifier;
  sparsifier.reduce.scheme = options.scheme;
  if (options.wire == "f16") sparsifier.reduce.wire = DType::kF16;
  if (options.wire == "bf16") sparsifier.reduce.wire = DType::kBF16;
  sparsifier.reduce.timeout = std::chrono::minutes(10);
  sparsifier.sidco_fit = collectives::sidco_fit_names().at(options.sidco_fit);
  if (options.sparsifiers.empty()) options.sparsifiers = collectives::sparsifier_names();
  for (const std::string& name : options.sparsifiers) {  // before the first one runs for minutes
    collectives::make_sparsifier(name, 1, sparsifier);
  }
  const SparsifyGradients gradients =
      options.gradients.empty()
          ? SparsifyGradients::synthetic(options.synthetic, options.skew, sparsifier.seed)
          : SparsifyGradients::captured(options.gradients);
  ThreadPool threads(options.threads);
  if (options.threads > 1) sparsifier.threads = &threads;
  if (!options.json) {
    fmt::print("{:<15} {:<16} {:>12} {:>9} {:>12} {:>10} {:>13}\n", "sparsifier", "clears",
               "density sent", "build-up", "inefficiency", "select ms", "of plain read");
  }
  for (const std::string& name : options.sparsifiers) {
    const SparsifyMeasurement measured = measure_sparsifier(name, gradients, options.run);
    if (options.json) {
      fmt::print("{}\n", measurement_json(options, gradients.num_values(), measured).dump());
    } else {
      print_measurement(measured);
    }
    std::fflush(stdout);
  }
}

}  // namespace

void add_sparsify_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "sparsify-bench", "What gradient sparsifiers send, and how long they select");
  auto options = std::make_shared<SparsifyBenchOptions>();
  add_sparsify_options(*command, *options);
  add_algorithm_options(*command, *options);
  command->add_flag("--json", options->json, "one JSON line per sparsifier");
  command->footer(
      "Ranks are threads and select one after another. The column \"of plain read\" is the time of "
      "reading the values once, divided by the time of selecting them: 1 is the speed of the "
      "memory.");
  command->callback([options] { run_sparsify_bench(*options); });
}

}  // namespace tandem::apps
