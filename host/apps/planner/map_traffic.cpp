// SPDX-License-Identifier: Apache-2.0
//
// Reads both files; compares the mapping that was found with the one of equal numbers.
#include "apps/planner/map_traffic.h"

#include <spdlog/fmt/fmt.h>

#include <numeric>

#include "apps/planner/planner_files.h"
#include "common/error.h"
#include "planner/mapping/topology_file.h"
#include "planner/mapping/topology_shapes.h"

namespace tandem::apps {
namespace {

planner::Topology topology_of(const std::string& name) {
  constexpr std::string_view kMachine = "machine";
  if (planner::is_topology_shape(name)) return planner::topology_of_shape(name);
  const bool is_described = name.starts_with("machine:");
  if (name != kMachine && !is_described) return planner::read_topology(name);
  ProcessorSource source;  // without a mask: mpirun numbers all cores
  if (is_described) source.synthetic = name.substr(kMachine.size() + 1);
  return planner::topology_of_processors(read_processors(source));
}

}  // namespace

RanksOnPlaces ranks_on_places(const MapTrafficOptions& options) {
  RanksOnPlaces ranks;
  read_named("map", options.traffic,
             [&](std::istream& in) { ranks.traffic = planner::read_rank_traffic(in); });
  ranks.topology = topology_of(options.topology);
  if (!options.hosts.empty()) {
    read_named("map", options.hosts,
               [&](std::istream& in) { planner::name_hosts(ranks.topology, in); });
  }
  ranks.distances = planner::distances_of(ranks.topology);
  ranks.problem = planner::rank_problem(ranks.traffic, ranks.topology, ranks.distances);
  return ranks;
}

void finish_traffic(const MapTrafficOptions& options, const RanksOnPlaces& ranks,
                    nlohmann::json& object) {
  planner::Permutation identity(static_cast<std::size_t>(ranks.problem.num_tasks));
  std::iota(identity.begin(), identity.end(), 0);
  auto places = object["permutation"].get<planner::Permutation>();
  const auto cost_of = [&](const planner::Permutation& at) {
    return planner::bytes_times(ranks.traffic, ranks.distances.cost, at);
  };
  const auto slow_bytes_of = [&](const planner::Permutation& at) {
    return planner::bytes_times(ranks.traffic, ranks.distances.slow, at);
  };
  if (cost_of(identity) <= cost_of(places)) places = identity;
  const int num_ranks = ranks.traffic.num_ranks;
  object["cost"] = cost_of(places);
  object["cost_before"] = cost_of(identity);
  object["slow_bytes"] = slow_bytes_of(places);
  object["slow_bytes_before"] = slow_bytes_of(identity);
  object["bytes"] =
      std::accumulate(ranks.traffic.bytes.begin(), ranks.traffic.bytes.end(), std::int64_t{0});
  object["topology"] = options.topology;
  object["num_tasks"] = num_ranks;
  object["num_places"] = ranks.topology.num_places();
  object["permutation"] = planner::Permutation(places.begin(), places.begin() + num_ranks);
  object["nccl_order"] = planner::nccl_order(places, num_ranks);
  nlohmann::json names = nlohmann::json::array();
  for (int rank = 0; rank < num_ranks; ++rank) {
    const int place = places[static_cast<std::size_t>(rank)];
    names.push_back(ranks.topology.places[static_cast<std::size_t>(place)].name);
  }
  object["places"] = std::move(names);
  if (options.rankfile.empty()) return;
  write_whole("map", options.rankfile, planner::rank_file_text(ranks.topology, places, num_ranks));
  object["rankfile"] = options.rankfile;
}

void print_traffic(const nlohmann::json& object) {
  fmt::print("before: cost {}\nbytes over slow links {}, before: {}\norder for NCCL {}\n",
             object["cost_before"].dump(), object["slow_bytes"].dump(),
             object["slow_bytes_before"].dump(), object["nccl_order"].dump());
  if (object.contains("rankfile")) {
    fmt::print("rank file in {}\n", object["rankfile"].get<std::string>());
  }
}

}  // namespace tandem::apps
