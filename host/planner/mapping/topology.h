// SPDX-License-Identifier: Apache-2.0
//
// Topology: places for tasks, switches, and the links between them.
//
// Vertices [0, places) are the places, in the order of the description; the others are switches.
// Traffic takes a path of least cost; of several such paths, one with the fewest slow links. A path
// may pass through places. Threads: immutable values. Errors: Error("topology", ...) naming a
// vertex that does not exist, or a place that cannot be reached.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::planner {

struct TopologyPlace {
  std::string name;
  std::string host = "localhost";  // or "+n2": the third host of mpirun's allocation
  std::string slot = "0";          // the core there; empty: mpirun cannot address the place
};

struct TopologyLink {
  int from = 0, to = 0;  // used in both directions
  std::int64_t cost = 1;
  bool is_slow = false;
};

struct Topology {
  std::vector<TopologyPlace> places;
  int num_switches = 0;
  std::vector<TopologyLink> links;

  int num_places() const { return static_cast<int>(places.size()); }
  int num_vertices() const { return num_places() + num_switches; }
  int add_switch() { return num_places() + num_switches++; }
  // Marks the links of the greatest cost as slow.
  void mark_slowest();
};

struct TopologyDistances {
  std::vector<std::int64_t> cost;  // [places, places]
  std::vector<std::int64_t> slow;  // [places, places] number of slow links on the path
};

TopologyDistances distances_of(const Topology& topology);

}  // namespace tandem::planner
