// SPDX-License-Identifier: Apache-2.0
//
// The measured traffic of the two-level scheme, and what a mapping takes off the slow links.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <sstream>

#include "collectives/scheme/scheme.h"
#include "planner/mapping/permutation_search.h"
#include "planner/mapping/rank_mapping.h"
#include "planner/mapping/topology_file.h"
#include "support/ranks.h"
#include "tensor/sparse/generate/synthetic.h"

namespace tandem::planner {
namespace {

using namespace tandem::collectives;

// The bytes of one all-reduce, by the transports' counters.
RankTraffic traffic_of(const std::string& scheme, const std::vector<int>& node_of_rank) {
  const int world = static_cast<int>(node_of_rank.size());
  sparse::SyntheticOptions workload;
  workload.domain = {20'000, 1};
  SchemeSettings settings;
  settings.node_of_rank = node_of_rank;
  RankTraffic traffic{world, {}};
  traffic.bytes.resize(node_of_rank.size() * node_of_rank.size());
  test::run_ranks(world, [&](std::unique_ptr<transport::Transport> transport) {
    SchemeMemory memory;
    const auto aggregator = make_cpu_aggregator();
    Communicator ranks(*transport, 0, Deadline::after(std::chrono::seconds(60)));
    scheme_by_name(scheme).allreduce(
        ranks, sparse::synthetic_gradient(workload, transport->rank(), world, 42), settings, memory,
        *aggregator);
    const auto counted = transport->traffic();
    for (std::size_t to = 0; to < node_of_rank.size(); ++to) {
      traffic.bytes[static_cast<std::size_t>(transport->rank()) * node_of_rank.size() + to] =
          static_cast<std::int64_t>(counted.peers[to].bytes_sent);
    }
  });
  return traffic;
}

// Hosts of four places each, with a slow link between every two.
Topology hosts_of_four(int num_hosts) {
  std::string text;
  for (int host = 0; host < num_hosts; ++host) {
    const std::string name = "host" + std::to_string(host);
    for (int slot = 0; slot < 4; ++slot) {
      const std::string place = name + "." + std::to_string(slot);
      text += "place " + place + " " + name + " " + std::to_string(slot) + "\n";
      text += "link " + place + " " + name + "\n";
    }
    for (int other = 0; other < host; ++other) {
      text += "link host" + std::to_string(other) + " " + name + " 10\n";
    }
  }
  std::istringstream in(text);
  return read_topology_text(in);
}

std::int64_t bytes_between(const RankTraffic& traffic, const std::vector<int>& node_of_rank) {
  std::int64_t sum = 0;
  for (std::size_t from = 0; from < node_of_rank.size(); ++from) {
    for (std::size_t to = 0; to < node_of_rank.size(); ++to) {
      if (node_of_rank[from] != node_of_rank[to]) {
        sum += traffic.bytes[from * node_of_rank.size() + to];
      }
    }
  }
  return sum;
}

// The groups of the scheme are dealt to the ranks in turn, so consecutive places split each.
TEST(TwoLevelMapping, GroupsOfTheSchemeComeTogetherOnHosts) {
  for (const int hosts : {2, 3}) {
    SCOPED_TRACE(hosts);
    std::vector<int> node_of_rank;
    for (int rank = 0; rank < 4 * hosts; ++rank) node_of_rank.push_back(rank % hosts);
    const RankTraffic traffic = traffic_of("two_level", node_of_rank);
    const Topology topology = hosts_of_four(hosts);
    const TopologyDistances distances = distances_of(topology);
    const QuadraticAssignment problem = rank_problem(traffic, topology, distances);
    SearchOptions options;
    options.most_steps = 20'000;
    const Permutation places = search_permutation(problem, options).places;
    Permutation identity(places.size());
    std::iota(identity.begin(), identity.end(), 0);
    const std::int64_t least = bytes_between(traffic, node_of_rank);
    EXPECT_GT(least, 0);
    EXPECT_EQ(bytes_times(traffic, distances.slow, places), least);
    EXPECT_GT(bytes_times(traffic, distances.slow, identity), least * 3 / 2);
    RecordProperty("slow_bytes_of_" + std::to_string(hosts),
                   std::to_string(bytes_times(traffic, distances.slow, identity)) + " to " +
                       std::to_string(least));
  }
}

}  // namespace
}  // namespace tandem::planner
