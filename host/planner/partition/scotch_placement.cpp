// SPDX-License-Identifier: Apache-2.0
//
// A context of its own has one thread and its own random numbers, so that runs are alike.
#include "planner/partition/scotch_placement.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <scotch.h>  // needs stdio and stdint before it

#include "common/error.h"
#include "planner/partition/device_speed.h"
#include "planner/partition/undirected_graph.h"

namespace tandem::planner {
namespace {

static_assert(sizeof(SCOTCH_Num) == sizeof(std::int32_t));

void check_scotch(int status, const char* what) {
  if (status == 0) return;
  throw Error("place", std::string("Scotch has failed: ") + what + "; choose another method");
}

// The objects of one mapping, freed together.
class ScotchMapping {
 public:
  ScotchMapping() {
    check_scotch(SCOTCH_contextInit(&context_), "no context");
    SCOTCH_contextRandomSeed(&context_, 1);
    check_scotch(SCOTCH_contextThreadSpawn(&context_, 1, nullptr), "no thread");
    check_scotch(SCOTCH_graphInit(&graph_), "no graph");
    check_scotch(SCOTCH_graphInit(&bound_), "no graph");
    check_scotch(SCOTCH_stratInit(&strategy_), "no strategy");
    check_scotch(SCOTCH_archInit(&devices_), "no architecture");
  }
  ~ScotchMapping() {
    SCOTCH_archExit(&devices_);
    SCOTCH_stratExit(&strategy_);
    SCOTCH_graphExit(&bound_);
    SCOTCH_graphExit(&graph_);
    SCOTCH_contextExit(&context_);
  }
  ScotchMapping(const ScotchMapping&) = delete;
  ScotchMapping& operator=(const ScotchMapping&) = delete;

  // shares: of the work, by device.
  std::vector<SCOTCH_Num> run(const UndirectedGraph& input, const std::vector<SCOTCH_Num>& shares) {
    const auto num_nodes = static_cast<SCOTCH_Num>(input.node_weights.size());
    check_scotch(SCOTCH_graphBuild(&graph_, 0, num_nodes, input.begins.data(),
                                   input.begins.data() + 1, input.node_weights.data(), nullptr,
                                   static_cast<SCOTCH_Num>(input.neighbours.size()),
                                   input.neighbours.data(), input.edge_weights.data()),
                 "the graph is refused");
    check_scotch(SCOTCH_contextBindGraph(&context_, &graph_, &bound_), "no bound graph");
    check_scotch(
        SCOTCH_archCmpltw(&devices_, static_cast<SCOTCH_Num>(shares.size()), shares.data()),
        "the devices are refused");
    std::vector<SCOTCH_Num> parts(input.node_weights.size());
    check_scotch(SCOTCH_graphMap(&bound_, &devices_, &strategy_, parts.data()), "no mapping");
    return parts;
  }

 private:
  SCOTCH_Context context_;
  SCOTCH_Graph graph_, bound_;
  SCOTCH_Strat strategy_;
  SCOTCH_Arch devices_;
};

}  // namespace

bool has_scotch() { return true; }

Placement place_by_scotch(const OperatorGraph& graph, const DeviceLinks& links) {
  Placement placement(static_cast<std::size_t>(graph.num_nodes()));
  if (links.num_devices == 1 || graph.num_nodes() <= links.num_devices) {
    for (std::size_t node = 0; node < placement.size(); ++node) {
      placement[node] = static_cast<int>(node) % links.num_devices;
    }
    return placement;
  }
  constexpr double kWhole = 10'000;
  std::vector<SCOTCH_Num> shares;
  for (const double share : device_shares(graph, links)) {
    shares.push_back(std::max<SCOTCH_Num>(1, static_cast<SCOTCH_Num>(std::lround(share * kWhole))));
  }
  const UndirectedGraph input = undirected_graph(graph, links, kMostWeights / 2);
  std::ranges::copy(ScotchMapping().run(input, shares), placement.begin());
  return placement;
}

}  // namespace tandem::planner
