// SPDX-License-Identifier: Apache-2.0
//
// `tandem map --traffic`: maps ranks onto the places of a topology.
//
// Threads: main. Errors: Error naming the file, and what is wrong in it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "planner/mapping/rank_mapping.h"

namespace tandem::apps {

struct MapTrafficOptions {
  std::string traffic, topology, hosts, rankfile;  // the last two: empty if absent
};

struct RanksOnPlaces {
  planner::RankTraffic traffic;
  planner::Topology topology;
  planner::TopologyDistances distances;
  planner::QuadraticAssignment problem;
};

RanksOnPlaces ranks_on_places(const MapTrafficOptions& options);

// `object` has "permutation": the places of all tasks. Replaces it by the places of the ranks, or
// by the identity if that costs no more. Adds the costs before and after, and writes the rank file.
void finish_traffic(const MapTrafficOptions& options, const RanksOnPlaces& ranks,
                    nlohmann::json& object);

void print_traffic(const nlohmann::json& object);

}  // namespace tandem::apps
