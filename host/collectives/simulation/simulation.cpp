// SPDX-License-Identifier: Apache-2.0
//
// One simulated world per scheme; each scale has its own data.
#include "collectives/simulation/simulation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "collectives/scheme/scheme.h"
#include "tensor/sparse/generate/model_shapes.h"
#include "transport/simulated/simulated.h"

namespace tandem::collectives {
namespace {

constexpr std::string_view kDenseBaseline = "dense_ring";
constexpr std::uint32_t kLeastWidth = 8;               // below it indices would weigh too much
constexpr double kCopies = 3;                          // of its data that a rank holds at a time
constexpr auto kTimeLimit = std::chrono::minutes(10);  // real time, per scheme

// A tensor small enough to be reduced here, standing for the full one.
struct Scaled {
  sparse::SyntheticOptions workload;
  std::uint64_t scale = 1;  // values of the full tensor over its own
};

Scaled scale_down(const sparse::SyntheticOptions& full, std::uint64_t scale) {
  Scaled scaled{full, 1};
  Domain& domain = scaled.workload.domain;
  while (scaled.scale < scale && domain.width % 2 == 0 && domain.width / 2 >= kLeastWidth) {
    domain.width /= 2;
    scaled.scale *= 2;
  }
  const std::uint64_t units = (scale + scaled.scale - 1) / scaled.scale;
  const std::uint64_t runs = domain.num_units / full.run_units;
  const std::uint64_t kept = std::max<std::uint64_t>(1, runs / std::max<std::uint64_t>(1, units));
  scaled.scale *= std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(
             std::llround(static_cast<double>(runs) / static_cast<double>(kept))));
  domain.num_units = kept * full.run_units;
  return scaled;
}

enum class Footprint : std::uint8_t { kUnions, kTensors, kAllInputs };

Footprint footprint_of(std::string_view scheme) {
  if (scheme == "allgather_sparse") return Footprint::kAllInputs;
  if (scheme.starts_with("dense_") || scheme == "sparcml_split_dense") return Footprint::kTensors;
  return Footprint::kUnions;
}

// Least scale at which the data of all ranks fit.
std::uint64_t least_scale(const SimulationOptions& options, const sparse::SyntheticOptions& full,
                          double densification, Footprint footprint) {
  const double ranks = options.network.world;
  const double values = static_cast<double>(full.domain.num_units) * full.domain.width;
  const double entry_bytes = 4 + 4.0 / full.domain.width;
  double bytes = 0;
  switch (footprint) {
    case Footprint::kUnions:
      bytes = ranks * values * std::min(1.0, full.density * densification) * entry_bytes;
      break;
    case Footprint::kTensors:
      bytes = ranks * values * 4;
      break;
    case Footprint::kAllInputs:
      bytes = ranks * ranks * values * full.density * entry_bytes;
      break;
  }
  const double scale = std::ceil(kCopies * bytes / static_cast<double>(options.memory_bytes));
  return static_cast<std::uint64_t>(std::max(1.0, scale));
}

std::vector<SparseVector> make_inputs(const sparse::SyntheticOptions& workload, int world,
                                      std::uint64_t seed) {
  std::vector<SparseVector> inputs;
  for (int rank = 0; rank < world; ++rank) {
    inputs.push_back(sparse::synthetic_gradient(workload, rank, world, seed));
  }
  return inputs;
}

// Of the supports only, with enough units for the statistics.
sparse::SyntheticOptions sample_of(const sparse::SyntheticOptions& full, int world) {
  sparse::SyntheticOptions sample = full;
  sample.domain.width = 1;
  const double entries = full.density * static_cast<double>(full.domain.num_units) * world;
  const auto fraction = static_cast<std::uint64_t>(std::ceil(entries / 4e6));
  const std::uint64_t runs = full.domain.num_units / full.run_units;
  sample.domain.num_units =
      std::max<std::uint64_t>(1, runs / std::max<std::uint64_t>(1, fraction)) * full.run_units;
  return sample;
}

SchemeSettings settings_of(const SimulationOptions& options) {
  SchemeSettings settings;
  settings.wire = options.wire;
  settings.codec = options.codec;
  const int per_node = options.network.ranks_per_node;
  for (int rank = 0; per_node > 1 && rank < options.network.world; ++rank) {
    settings.node_of_rank.push_back(rank / per_node);
  }
  return settings;
}

LinkModel link_of(const transport::simulated::NetworkOptions& network) {
  LinkModel link;
  link.latency_s = network.latency_s;
  link.bandwidth_bytes_per_s = network.bandwidth_bytes_per_s / network.ranks_per_node;
  link.node_latency_s = network.node_latency_s;
  link.node_bandwidth_bytes_per_s = network.node_bandwidth_bytes_per_s;
  link.message_s = network.message_gap_s;
  return link;
}

// The model's prediction for the full tensor, from the unions of the scaled one.
double predict(const Scheme& scheme, const SimulationOptions& options, const Scaled& scaled,
               const sparse::SyntheticOptions& full, Problem problem) {
  const double units = static_cast<double>(full.domain.num_units) /
                       static_cast<double>(scaled.workload.domain.num_units);
  const double blocks = static_cast<double>(scaled.scale);
  for (double& size : problem.union_entries) size *= units;
  for (double& size : problem.union_blocks) size *= blocks;
  problem.domain = full.domain;
  problem.ranks_per_node = options.network.ranks_per_node;
  problem.wire = options.wire;
  problem.codec = options.codec;
  const ComputeModel no_compute{0, 0, 0};
  return scheme.cost(problem, link_of(options.network), no_compute).seconds;
}

struct RankFigures {
  double seconds = 0;
  TrafficSnapshot traffic;
};

// Full-size bytes: bodies count `scale` times, frames once.
double full_bytes(std::uint64_t bytes, std::uint64_t messages, std::uint64_t scale) {
  const std::uint64_t frames = messages * kFrameBytes;
  return static_cast<double>(frames) +
         static_cast<double>(bytes - frames) * static_cast<double>(scale);
}

std::vector<RankFigures> run_scheme(const Scheme& scheme, const SimulationOptions& options,
                                    std::uint64_t scale, std::vector<SparseVector> inputs) {
  transport::simulated::NetworkOptions network = options.network;
  network.scale = scale;
  network.frame_bytes = kFrameBytes;
  const SchemeSettings settings = settings_of(options);
  std::vector<RankFigures> figures(inputs.size());
  transport::simulated::run_ranks(network, [&](Transport& transport) {
    transport.set_failure_scope(transport::FailureScope::kGroup);
    Communicator ranks(transport, 1, Deadline::after(kTimeLimit));
    SchemeMemory memory;
    const auto aggregator = make_cpu_aggregator();
    const auto rank = static_cast<std::size_t>(transport.rank());
    scheme.allreduce(ranks, std::move(inputs[rank]), settings, memory, *aggregator);
    figures[rank] = {transport::simulated::now(transport), transport.traffic()};
  });
  return figures;
}

void summarise(const std::vector<RankFigures>& figures, SimulatedScheme& scheme) {
  for (const RankFigures& rank : figures) {
    std::uint64_t received_messages = 0;
    for (const transport::PeerTraffic& peer : rank.traffic.peers)
      received_messages += peer.messages_received;
    const double sent =
        full_bytes(rank.traffic.bytes_sent(), rank.traffic.messages_sent(), scheme.scale);
    scheme.seconds = std::max(scheme.seconds, rank.seconds);
    scheme.steps = std::max(scheme.steps, static_cast<double>(rank.traffic.steps));
    scheme.bytes_sent = std::max(scheme.bytes_sent, sent);
    scheme.bytes_received =
        std::max(scheme.bytes_received,
                 full_bytes(rank.traffic.bytes_received(), received_messages, scheme.scale));
    scheme.total_bytes += sent;
  }
}

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options) : options_(options) {
    result_.workload = options.workload;
    if (!options.model.empty()) {
      const sparse::ModelShape& shape = sparse::model_shape(options.model);
      result_.workload = sparse::synthetic_options(shape, 1, options.as_rows);
      result_.dense_values = shape.dense_values;
    }
    transport::simulated::validate(options.network);
    const sparse::SyntheticOptions sample = sample_of(result_.workload, options.network.world);
    result_.statistics =
        sparse::measure_supports(make_inputs(sample, options.network.world, options.seed));
    const double own = result_.statistics.density * static_cast<double>(sample.domain.num_units);
    result_.densification = own > 0 ? result_.statistics.union_entries / own : 1;
  }

  SimulationResult run() {
    const std::vector<const Scheme*> schemes = asked_for();
    const Scheme* const reference = &scheme_by_name(kDenseBaseline);
    const std::size_t count = 1 + schemes.size() - std::ranges::count(schemes, reference);
    std::size_t number = 0;
    const auto simulate = [&](const Scheme& scheme) {
      if (options_.progress) options_.progress(std::string(scheme.name()), ++number, count);
      return run_one(scheme);
    };
    const SimulatedScheme dense_ring = simulate(*reference);
    result_.dense_ring_s = dense_ring.seconds;
    for (const Scheme* scheme : schemes) {
      result_.schemes.push_back(scheme == reference ? dense_ring : simulate(*scheme));
    }
    const double dense = result_.dense_ring_s;
    const double values =
        static_cast<double>(result_.workload.domain.num_units) * result_.workload.domain.width;
    const double rest = dense * static_cast<double>(result_.dense_values) / std::max(values, 1.0);
    for (SimulatedScheme& scheme : result_.schemes) {
      if (scheme.seconds <= 0) continue;
      scheme.ratio_to_dense = dense / scheme.seconds;
      scheme.ratio_with_rest = (dense + rest) / (scheme.seconds + rest);
    }
    return std::move(result_);
  }

 private:
  std::vector<const Scheme*> asked_for() const {
    std::vector<const Scheme*> schemes;
    if (options_.schemes.empty()) {
      schemes.assign(all_schemes().begin(), all_schemes().end());
    }
    for (const std::string& name : options_.schemes) schemes.push_back(&scheme_by_name(name));
    return schemes;
  }

  SimulatedScheme run_one(const Scheme& scheme) const {
    SimulatedScheme simulated;
    simulated.name = scheme.name();
    const Scaled scaled =
        scale_down(result_.workload, least_scale(options_, result_.workload, result_.densification,
                                                 footprint_of(scheme.name())));
    simulated.scale = scaled.scale;
    auto inputs = make_inputs(scaled.workload, options_.network.world, options_.seed);
    Problem problem;
    fill_measured(problem, inputs);
    Problem full = problem;
    full.domain = result_.workload.domain;
    full.wire = options_.wire;
    full.codec = options_.codec;
    full.ranks_per_node = options_.network.ranks_per_node;
    simulated.refusal = scheme.refusal(full);
    if (!simulated.refusal.empty()) return simulated;
    simulated.predicted_s = predict(scheme, options_, scaled, result_.workload, problem);
    summarise(run_scheme(scheme, options_, scaled.scale, std::move(inputs)), simulated);
    return simulated;
  }

  SimulationOptions options_;
  SimulationResult result_;
};

}  // namespace

SimulationResult simulate_collectives(const SimulationOptions& options) {
  return Simulation(options).run();
}

}  // namespace tandem::collectives
