// SPDX-License-Identifier: Apache-2.0
//
// `tandem simulate-collectives`: the schemes' own code over a simulated network, in virtual time.
#include <spdlog/fmt/fmt.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/collectives/command.h"
#include "apps/command_words.h"
#include "collectives/simulation/simulation.h"
#include "common/error.h"
#include "tensor/sparse/generate/model_shapes.h"

namespace tandem::apps {
namespace {

struct SimulateOptions {
  collectives::SimulationOptions simulation;
  std::uint64_t elements = 10'000'000;
  double skew = 1;
  double gbit_per_s = 25;
  double latency_us = 20;
  double node_gbit_per_s = 800;
  std::string codec = "auto";
  double memory_gib = 2;
  bool json = false;
};

nlohmann::json scheme_json(const SimulateOptions& options,
                           const collectives::SimulationResult& result,
                           const collectives::SimulatedScheme& scheme) {
  nlohmann::json line = {{"name", "simulated_allreduce"},
                         {"scheme", scheme.name},
                         {"model", options.simulation.model},
                         {"world", options.simulation.network.world},
                         {"gbit_per_s", options.gbit_per_s},
                         {"latency_us", options.latency_us},
                         {"oversubscription", options.simulation.network.oversubscription},
                         {"units", result.workload.domain.num_units},
                         {"width", result.workload.domain.width},
                         {"density", result.statistics.density},
                         {"skew", result.statistics.skew},
                         {"overlap", result.statistics.overlap}};
  if (!scheme.refusal.empty()) {
    line["refused"] = scheme.refusal;
    return line;
  }
  line.update({{"unit", "s"},
               {"seconds", scheme.seconds},
               {"predicted_s", scheme.predicted_s},
               {"ratio_to_dense", scheme.ratio_to_dense},
               {"ratio_with_rest", scheme.ratio_with_rest},
               {"steps", scheme.steps},
               {"bytes_sent", scheme.bytes_sent},
               {"bytes_received", scheme.bytes_received},
               {"total_bytes", scheme.total_bytes},
               {"scale", scheme.scale}});
  return line;
}

void print_table(const collectives::SimulationResult& result) {
  fmt::print(
      "{} units of {} value{}, density {:.4g} %, skew {:.3g}, overlap {:.3g}; the union holds "
      "{:.3g} "
      "times a rank's entries; dense ring {:.3f} ms\n",
      result.workload.domain.num_units, result.workload.domain.width,
      result.workload.domain.width == 1 ? "" : "s", 100 * result.statistics.density,
      result.statistics.skew, result.statistics.overlap, result.densification,
      1e3 * result.dense_ring_s);
  fmt::print("{:<28} {:>10} {:>12} {:>8} {:>8} {:>6} {:>12} {:>12} {:>6}\n", "scheme", "ms",
             "predicted ms", "x dense", "x whole", "steps", "sent MB", "received MB", "scale");
  for (const collectives::SimulatedScheme& scheme : result.schemes) {
    if (!scheme.refusal.empty()) {
      fmt::print("{:<28} not run: {}\n", scheme.name, scheme.refusal);
      continue;
    }
    fmt::print("{:<28} {:>10.3f} {:>12.3f} {:>8.2f} {:>8.2f} {:>6.0f} {:>12.3f} {:>12.3f} {:>6}\n",
               scheme.name, 1e3 * scheme.seconds, 1e3 * scheme.predicted_s, scheme.ratio_to_dense,
               scheme.ratio_with_rest, scheme.steps, scheme.bytes_sent / 1e6,
               scheme.bytes_received / 1e6, scheme.scale);
  }
  fmt::print(
      "x dense: the dense ring's time over the scheme's; x whole: the same with the model's dense\n"
      "part, if it has one, added to both; bytes are the busiest rank's; scale: a tensor 1/scale "
      "the\n"
      "size was reduced\n");
}

std::string known_models() {
  std::string names;
  for (const sparse::ModelShape& shape : sparse::model_shapes()) {
    names += (names.empty() ? "" : ", ") + std::string(shape.name);
  }
  return names;
}

std::string known_codecs() {
  std::string names = "auto";
  for (const collectives::Codec codec : collectives::all_codecs()) {
    names += ", " + std::string(collectives::codec_name(codec));
  }
  return names;
}

void run(SimulateOptions& options) {
  collectives::SimulationOptions& simulation = options.simulation;
  const auto codec = collectives::codec_from_name(options.codec);
  if (!codec) {
    throw Error("simulate-collectives",
                "no codec is called '" + options.codec + "'; there are: " + known_codecs());
  }
  simulation.codec = *codec;
  simulation.workload.domain = {options.elements, 1};
  if (options.skew > 1) {
    sparse::set_skew(simulation.workload, options.skew, simulation.network.world);
  }
  simulation.network.latency_s = options.latency_us * 1e-6;
  simulation.network.bandwidth_bytes_per_s = options.gbit_per_s * 1e9 / 8;
  simulation.network.node_bandwidth_bytes_per_s = options.node_gbit_per_s * 1e9 / 8;
  simulation.memory_bytes =
      static_cast<std::uint64_t>(options.memory_gib * static_cast<double>(1ull << 30));
  simulation.progress = [](const std::string& scheme, std::size_t number, std::size_t count) {
    const char* const role = number == 1 ? ", with which all schemes are compared" : "";
    fmt::print(stderr, "simulating {}{} ({} of {})\n", scheme, role, number, count);
  };
  const auto result = collectives::simulate_collectives(simulation);
  if (!options.json) {
    print_table(result);
    return;
  }
  for (const auto& scheme : result.schemes) {
    fmt::print("{}\n", scheme_json(options, result, scheme).dump());
  }
}

void add_workload_options(CLI::App& command, SimulateOptions& options) {
  command.add_option("--model", options.simulation.model,
                     "gradients like those of a published model: " + known_models());
  command.add_flag("--rows", options.simulation.as_rows,
                   "with --model: send whole rows of matrices");
  command
      .add_option("--elements", options.elements, "values of the tensor, where no model is named")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
      ->capture_default_str();
  command.add_option("--density", options.simulation.workload.density, "share of non-zero values")
      ->check(in_range(1e-12, 1))
      ->capture_default_str();
  command
      .add_option("--skew", options.skew,
                  "imbalance: entries of the fullest of n equal ranges, divided by their mean")
      ->capture_default_str();
  command.add_option("--overlap", options.simulation.workload.overlap,
                     "share of its non-zeros that a rank has in common with another, 0 to 1 "
                     "(default: they are independent)");
  command
      .add_option(
          "--schemes", options.simulation.schemes,
          "schemes to simulate, separated by commas (default: all); dense_ring runs first in any "
          "case, because all are compared with it")
      ->delimiter(',');
  command
      .add_option("--codec", options.codec,
                  "encoding of messages: auto, coo32, coo16, delta, bitmap, blocks or dense")
      ->capture_default_str();
  command.add_option("--seed", options.simulation.seed, "seed of the gradients")
      ->check(count_value())
      ->capture_default_str();
  command
      .add_option("--memory-gib", options.memory_gib,
                  "memory for the ranks' data, in GiB; larger tensors are scaled down to fit")
      ->check(in_range(0.001, 1e6))
      ->capture_default_str();
}

void add_network_options(CLI::App& command, SimulateOptions& options) {
  auto& network = options.simulation.network;
  network.world = 16;
  command.add_option("--world", network.world, "number of ranks")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      .add_option("--bandwidth-gbps", options.gbit_per_s,
                  "bandwidth of a node's adapter, in gigabits per second and direction")
      ->check(positive())
      ->capture_default_str();
  command
      .add_option("--latency-us", options.latency_us,
                  "latency of a message between nodes, in microseconds")
      ->check(not_negative())
      ->capture_default_str();
  command
      .add_option("--ranks-per-node", network.ranks_per_node, "ranks that share a node's adapter")
      ->capture_default_str();
  command
      .add_option("--node-bandwidth-gbps", options.node_gbit_per_s,
                  "bandwidth of a rank inside its node, in gigabits per second")
      ->check(positive())
      ->capture_default_str();
  command.add_option("--nodes-per-rack", network.nodes_per_rack, "nodes of a rack (0: one rack)")
      ->capture_default_str();
  command
      .add_option("--oversubscription", network.oversubscription,
                  "bandwidth of a rack's ports over that of its uplink")
      ->capture_default_str();
}

}  // namespace

void add_simulate_collectives(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "simulate-collectives", "Compare the schemes over a simulated network, up to 1,024 ranks");
  auto options = std::make_shared<SimulateOptions>();
  add_workload_options(*command, *options);
  add_network_options(*command, *options);
  command->add_flag("--json", options->json, "one JSON line per scheme");
  command->callback([options] { run(*options); });
}

}  // namespace tandem::apps
