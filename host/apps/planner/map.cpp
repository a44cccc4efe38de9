// SPDX-License-Identifier: Apache-2.0
//
// `tandem map`: tasks onto places, directly or as a QUBO; ranks onto topologies; circuits onto
// machines.
#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/command_words.h"
#include "apps/json_text.h"
#include "apps/planner/command.h"
#include "apps/planner/map_circuit.h"
#include "apps/planner/map_traffic.h"
#include "apps/planner/planner_files.h"
#include "common/error.h"
#include "planner/mapping/permutation_search.h"
#include "planner/mapping/qaplib_file.h"
#include "planner/mapping/qubo_file.h"
#include "planner/mapping/samplers.h"

namespace tandem::apps {
namespace {

using nlohmann::json;

struct MapOptions {
  std::string qaplib, method = "direct", sampler = "annealing";
  double seconds = 10;
  std::uint64_t seed = 1;
  int threads = 2;
  std::string qubo, ising, samples;
  MapCircuitOptions circuit;
  MapTrafficOptions traffic;
  bool is_search_asked = false, as_json = false;
};

json mapping_json(const planner::QuadraticAssignment& problem, const planner::Permutation& places) {
  return {
      {"cost", problem.cost(places)}, {"permutation", places}, {"num_tasks", problem.num_tasks}};
}

json search_json(const MapOptions& options, const planner::QuadraticAssignment& problem) {
  planner::SearchOptions search;
  search.deadline = Deadline::after(std::chrono::duration_cast<Deadline::Clock::duration>(
      std::chrono::duration<double>(options.seconds)));
  search.seed = options.seed;
  search.num_threads = options.threads;
  json object;
  if (options.method == "direct") {
    object = mapping_json(problem, planner::search_permutation(problem, search).places);
  } else {
    const planner::Qubo qubo = planner::encode_qubo(problem, planner::proven_penalty(problem));
    object = mapping_json(
        problem,
        planner::sample_mapping(qubo, planner::sampler_of(options.sampler), search).places);
    object["sampler"] = options.sampler;
  }
  object["method"] = options.method;
  object["seed"] = options.seed;
  return object;
}

// The best mapping of samples that an annealer has returned.
json samples_json(const MapOptions& options, const planner::QuadraticAssignment& problem) {
  const int num_bits = problem.num_tasks * problem.num_tasks;
  std::ifstream file = opened_input("map", options.samples);
  const auto samples = planner::read_samples(file, num_bits);
  std::optional<planner::Permutation> best;
  int num_valid = 0;
  for (const auto& bits : samples) {
    auto places = planner::decode_bits(bits);
    if (!places) continue;
    ++num_valid;
    if (!best || problem.cost(*places) < problem.cost(*best)) best = std::move(places);
  }
  if (!best) {
    throw Error("map", "none of the " + std::to_string(samples.size()) + " samples of '" +
                           options.samples +
                           "' is a mapping: each task needs one place and each place one task");
  }
  json object = mapping_json(problem, *best);
  object["method"] = "samples";
  object["num_samples"] = samples.size();
  object["num_valid"] = num_valid;
  return object;
}

json export_json(const MapOptions& options, const planner::QuadraticAssignment& problem) {
  const double penalty = planner::proven_penalty(problem);
  const planner::Qubo qubo = planner::encode_qubo(problem, penalty);
  json object{{"num_bits", qubo.num_bits}, {"penalty", penalty}, {"offset", qubo.offset}};
  if (!options.qubo.empty()) {
    write_whole("map", options.qubo, planner::qubo_text(qubo));
    object["qubo"] = options.qubo;
  }
  if (!options.ising.empty()) {
    write_whole("map", options.ising, planner::ising_json(qubo));
    object["ising"] = options.ising;
  }
  return object;
}

void print_mapping(const json& object) {
  if (object.contains("qubo")) fmt::print("QUBO in {}\n", object["qubo"].get<std::string>());
  if (object.contains("ising"))
    fmt::print("Ising JSON in {}\n", object["ising"].get<std::string>());
  if (object.contains("penalty")) {
    fmt::print("{} bits, penalty {}, offset {}\n", object["num_bits"].dump(),
               object["penalty"].dump(), object["offset"].dump());
  }
  if (object.contains("cost")) {
    fmt::print("cost {}\nplaces of the tasks {}\n", object["cost"].dump(),
               object["permutation"].dump());
  }
}

json circuit_json(const MapOptions& options) {
  if (options.circuit.coupling.empty()) {
    throw Error("map", "a circuit needs a machine: name its --coupling FILE");
  }
  MapCircuitOptions circuit = options.circuit;
  circuit.threads = options.threads;
  circuit.seed = options.seed;
  return map_circuit_json(circuit);
}

void run_circuit(const MapOptions& options) {
  const json object = circuit_json(options);
  if (options.as_json) {
    fmt::print("{}\n", json_text(object));
  } else {
    fmt::print("{} swaps, depth {} (before: {})\nplaces of the qubits {}, at the end {}\n",
               object["swaps"].dump(), object["depth"].dump(), object["depth_before"].dump(),
               object["initial_layout"].dump(), object["final_layout"].dump());
  }
}

// Export, samples or search, as the options say.
json result_json(const MapOptions& options, const planner::QuadraticAssignment& problem) {
  const bool is_export = !options.qubo.empty() || !options.ising.empty();
  json object = json::object();
  if (is_export) object = export_json(options, problem);
  if (!options.samples.empty()) {
    object.update(samples_json(options, problem));
  } else if (!is_export || options.is_search_asked) {
    object.update(search_json(options, problem));
  }
  return object;
}

void run_map(const MapOptions& options) {
  const bool has_traffic = !options.traffic.traffic.empty();
  if (!options.qaplib.empty() + !options.circuit.qasm.empty() + has_traffic != 1) {
    throw Error("map",
                "name what to map: --qaplib FILE, --traffic FILE or --qasm FILE; see "
                "`tandem map --help`");
  }
  if (!options.circuit.qasm.empty()) return run_circuit(options);
  json object;
  if (has_traffic) {
    const RanksOnPlaces ranks = ranks_on_places(options.traffic);
    object = result_json(options, ranks.problem);
    if (object.contains("permutation")) finish_traffic(options.traffic, ranks, object);
  } else {
    object = result_json(options, read_named("map", options.qaplib, planner::read_qaplib));
  }
  if (options.as_json) {
    fmt::print("{}\n", json_text(object));
    return;
  }
  print_mapping(object);
  if (object.contains("slow_bytes")) print_traffic(object);
}

void add_search_options(CLI::App& command, MapOptions& o) {
  command.add_option("--seconds", o.seconds, "seconds that the search may take")
      ->check(in_range(0, 1e6))
      ->each([&o](const std::string&) { o.is_search_asked = true; })
      ->capture_default_str();
  command.add_option("--seed", o.seed, "seed of the random numbers")
      ->check(count_value())
      ->capture_default_str();
  command
      .add_option("--threads", o.threads,
                  "threads of the direct search and of the search for circuits")
      ->check(in_range(1, 1024))
      ->capture_default_str();
  command
      .add_option("--method", o.method,
                  "direct: search over mappings; qubo: search over the bits of a QUBO, for at most "
                  "40 tasks")
      ->check(CLI::IsMember({"direct", "qubo"}))
      ->capture_default_str();
  command.add_option("--sampler", o.sampler, "sampler of --method qubo")
      ->check(CLI::IsMember({"annealing", "tempering", "quantum", "tabu"}))
      ->capture_default_str();
}

void add_circuit_options(CLI::App& command, MapOptions& o) {
  CLI::Option* qasm =
      command.add_option("--qasm", o.circuit.qasm,
                         "map this circuit, a file in OpenQASM 2; --coupling names the machine");
  command
      .add_option("--coupling", o.circuit.coupling,
                  "the machine of --qasm: a file with two qubits on each line, which are "
                  "connected, or JSON")
      ->needs(qasm);
  command.add_option("--out", o.circuit.out, "write the mapped circuit to this file")->needs(qasm);
  command
      .add_option("--trials", o.circuit.trials,
                  "number of layouts with which the search for a circuit begins")
      ->check(in_range(1, 100'000))
      ->default_str("by its size");
}

void add_traffic_options(CLI::App& command, MapOptions& o) {
  CLI::Option* traffic = command.add_option(
      "--traffic", o.traffic.traffic,
      "map the ranks of this file, the JSON of `tandem trace-comm`, onto --topology");
  CLI::Option* topology =
      command
          .add_option(
              "--topology", o.traffic.topology,
              "the places: mesh:4x4, torus:4x4x4, fat-tree:PORTS, dragonfly:GROUPSxROUTERSxPLACES, "
              "machine (its cores), machine:\"numa:2 core:4 pu:1\", or a file: lines of "
              "places and links, XML of lstopo or of NCCL")
          ->needs(traffic);
  traffic->needs(topology);
  command
      .add_option("--hosts", o.traffic.hosts,
                  "hostfile of mpirun: its slots are the places, in their order")
      ->needs(traffic);
  command
      .add_option("--rankfile", o.traffic.rankfile,
                  "write the places of the ranks to this file, for mpirun --rankfile")
      ->needs(traffic);
}

}  // namespace

void add_map(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("map", "Map tasks that exchange data onto places with distances");
  auto options = std::make_shared<MapOptions>();
  MapOptions& o = *options;
  command->add_option("--qaplib", o.qaplib, "size, flows and distances in the form of QAPLIB");
  add_traffic_options(*command, o);
  add_circuit_options(*command, o);
  add_search_options(*command, o);
  command->add_option("--export-qubo", o.qubo,
                      "write the problem as a QUBO to this file; searches with --seconds only");
  command->add_option("--export-ising", o.ising, "the same as Ising JSON");
  command->add_option("--samples", o.samples,
                      "take the best mapping of bits that an annealer has returned");
  command->add_flag("--json", o.as_json, "print JSON");
  command->callback([options] { run_map(*options); });
}

}  // namespace tandem::apps
