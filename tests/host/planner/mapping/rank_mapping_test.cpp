// SPDX-License-Identifier: Apache-2.0
//
// Traffic of a trace, costs and slow bytes against sums over all pairs, and the files that follow.
#include "planner/mapping/rank_mapping.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "host/planner/mapping/problems.h"
#include "host/planner/message_of.h"
#include "planner/mapping/permutation_search.h"
#include "planner/mapping/topology_shapes.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RankTraffic of_json(const std::string& text) {
  std::istringstream in(text);
  return read_rank_traffic(in);
}

TEST(RankTrafficTest, RowsAreDestinations) {
  const RankTraffic traffic =
      of_json(R"({"ranks": 3, "labels": ["a"], "bytes": [[9, 1, 0], [7, 0, 0], [0, 5, 9]]})");
  EXPECT_EQ(traffic.num_ranks, 3);
  EXPECT_THAT(traffic.bytes, ElementsAre(0, 7, 0, 1, 0, 5, 0, 0, 0));
}

TEST(RankTrafficTest, WrongFieldsAreNamed) {
  const auto refusal = [](const std::string& text) { return message_of([&] { of_json(text); }); };
  EXPECT_THAT(refusal("{\"ranks\": 3"), HasSubstr("not complete JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("'ranks' and 'bytes' are missing"));
  EXPECT_THAT(refusal(R"({"ranks": 3})"), HasSubstr("'ranks' and 'bytes' are missing"));
  for (const std::string ranks : {"0", "-1", "2049", "1.5", "\"2\"", "null"}) {
    EXPECT_THAT(refusal("{\"ranks\": " + ranks + ", \"bytes\": []}"),
                HasSubstr("'ranks' is " + ranks + ", not a number from 1 to 2048"));
  }
  EXPECT_THAT(refusal(R"({"ranks": 2, "bytes": [[0, 0]]})"),
              HasSubstr("'bytes' must be an array of 2"));
  EXPECT_THAT(refusal(R"({"ranks": 2, "bytes": [[0, 0], [0]]})"),
              HasSubstr("'bytes' [1] must be an array of 2"));
  for (const std::string bytes : {"-1", "0.5", "\"1\"", "2251799813685248"}) {
    EXPECT_THAT(refusal("{\"ranks\": 2, \"bytes\": [[0, 0], [" + bytes + ", 0]]}"),
                HasSubstr("'bytes' [1][0] is " + bytes + ", not a whole number"));
  }
}

// Ranks send 0 to 9 bytes to each other.
RankTraffic random_traffic(int num_ranks, std::mt19937_64& random) {
  RankTraffic traffic{num_ranks, random_problem(num_ranks, Shape::kAny, random).flow};
  for (int rank = 0; rank < num_ranks; ++rank) {
    traffic.bytes[static_cast<std::size_t>(rank * (num_ranks + 1))] = 0;
  }
  return traffic;
}

TEST(RankMapping, CostsAndSlowBytesAreSumsOverPairs) {
  std::mt19937_64 random(3);
  const Topology topology = topology_of_shape("dragonfly:2x2x2");
  const TopologyDistances distances = distances_of(topology);
  const RankTraffic traffic = random_traffic(6, random);
  const QuadraticAssignment problem = rank_problem(traffic, topology, distances);
  EXPECT_EQ(problem.num_tasks, 8);
  Permutation places(8);
  std::iota(places.begin(), places.end(), 0);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(places.begin(), places.end(), random);
    std::int64_t cost = 0, slow = 0;
    for (std::size_t from = 0; from < 6; ++from) {
      for (std::size_t to = 0; to < 6; ++to) {
        const auto way = static_cast<std::size_t>(places[from] * 8 + places[to]);
        cost += traffic.bytes[from * 6 + to] * distances.cost[way];
        if (places[from] / 4 != places[to] / 4) slow += traffic.bytes[from * 6 + to];
      }
    }
    EXPECT_EQ(problem.cost(places), cost);
    EXPECT_EQ(bytes_times(traffic, distances.cost, places), cost);
    EXPECT_EQ(bytes_times(traffic, distances.slow, places), slow);
  }
}

// Every way of placing `num_ranks` ranks, also where places stay free.
TEST(RankMapping, TheSearchFindsTheLeastOfAllPlacements) {
  std::mt19937_64 random(5);
  for (const std::string name : {"mesh:2x3", "torus:7", "fat-tree:2", "dragonfly:2x2x2"}) {
    const Topology topology = topology_of_shape(name);
    const TopologyDistances distances = distances_of(topology);
    for (int ranks = 1; ranks <= std::min(4, topology.num_places()); ++ranks) {
      SCOPED_TRACE(name + ", " + std::to_string(ranks));
      const QuadraticAssignment problem =
          rank_problem(random_traffic(ranks, random), topology, distances);
      SearchOptions options;
      options.most_steps = 2000;
      EXPECT_EQ(search_permutation(problem, options).cost, least_cost_of_all(problem));
    }
  }
}

// Ranks 0, 7, 14, 5 ... form a ring.
TEST(RankMapping, ARingFindsAClosedWayThroughATorus) {
  const Topology topology = topology_of_shape("torus:4x4");
  RankTraffic traffic{16, std::vector<std::int64_t>(256)};
  for (std::size_t at = 0; at < 16; ++at) {
    traffic.bytes[at * 7 % 16 * 16 + (at + 1) * 7 % 16] = 100;
  }
  SearchOptions options;
  options.most_steps = 60'000;
  const TopologyDistances distances = distances_of(topology);
  const QuadraticAssignment problem = rank_problem(traffic, topology, distances);
  EXPECT_EQ(search_permutation(problem, options).cost, 16 * 100);
}

TEST(RankMapping, MoreRanksThanPlacesAreRefused) {
  std::mt19937_64 random(1);
  const Topology topology = topology_of_shape("mesh:3");
  const TopologyDistances distances = distances_of(topology);
  EXPECT_THAT(message_of([&] { rank_problem(random_traffic(4, random), topology, distances); }),
              HasSubstr("4 ranks need a place each; the topology has 3"));
  EXPECT_EQ(rank_problem(random_traffic(3, random), topology, distances).num_tasks, 3);
}

TEST(RankMapping, ManyBytesAreSearchedInALargerUnit) {
  const std::int64_t large = std::int64_t{1} << 50;
  RankTraffic traffic{3, {0, 0, large, 0, 0, 5, 0, 0, 0}};
  const Topology topology = topology_of_shape("mesh:3");
  const TopologyDistances distances = distances_of(topology);
  const QuadraticAssignment problem = rank_problem(traffic, topology, distances);
  EXPECT_THAT(problem.flow, ElementsAre(0, 0, large / 2, 0, 0, 2, 0, 0, 0));
  EXPECT_EQ(bytes_times(traffic, distances.cost, {0, 1, 2}), 2 * large + 5);
  traffic.bytes[2] = large - 5;  // the sum is 2^51, which the search refuses
  EXPECT_EQ(rank_problem(traffic, topology, distances).flow[2], large / 2 - 3);
  traffic.bytes[2] = large / 2 - 8;
  EXPECT_EQ(rank_problem(traffic, topology, distances).flow[2], large / 2 - 8);
}

TEST(RankMapping, SumsThatPassTheWholeNumbersAreRefused) {
  const Topology topology = topology_of_shape("mesh:3");
  TopologyDistances distances = distances_of(topology);
  RankTraffic traffic{2, {0, std::int64_t{1} << 50, 0, 0}};
  distances.cost[1] = 1 << 12;
  EXPECT_THAT(message_of([&] { rank_problem(traffic, topology, distances); }),
              HasSubstr("bytes times the longest way pass 2^62"));
  distances.cost[1] -= 1;
  EXPECT_EQ(message_of([&] { rank_problem(traffic, topology, distances); }), "");
}

TEST(RankMapping, TheRankFileNamesHostAndSlot) {
  Topology topology = topology_of_shape("mesh:3");
  topology.places[2].slot = "5";
  EXPECT_EQ(rank_file_text(topology, {2, 0, 1}, 2), "rank 0=+n2 slot=5\nrank 1=+n0 slot=0\n");
  topology.places[0].slot.clear();
  topology.places[0].name = "gpu 0";
  EXPECT_THAT(message_of([&] {
                rank_file_text(topology, {2, 0, 1}, 2);
              }),
              HasSubstr("'gpu 0' is none"));
}

TEST(RankMapping, TheOrderForNcclIsThatOfThePlaces) {
  EXPECT_THAT(nccl_order({5, 2, 7, 0, 1}, 4), ElementsAre(3, 1, 0, 2));
}

}  // namespace
}  // namespace tandem::planner
