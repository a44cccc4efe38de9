// SPDX-License-Identifier: Apache-2.0
//
// The closed forms of every algorithm, and that the sums over all ranks are exact for sizes that
// the ranks do not divide.
#include "trace/communication/collective_model.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tandem::trace {
namespace {

using FlowSums = std::map<std::pair<int, int>, std::uint64_t>;

// Bytes by pair, of all ranks together.
FlowSums all_flows(const CollectiveCall& call) {
  FlowSums sums;
  std::vector<Flow> flows;
  for (int me = 0; me < call.ranks; ++me) {
    model_flows(call, me, flows);
    for (const Flow& flow : flows) {
      EXPECT_NE(flow.source, flow.destination);
      sums[{flow.source, flow.destination}] += flow.bytes;
    }
  }
  return sums;
}

std::uint64_t total_bytes(const CollectiveCall& call) {
  std::uint64_t sum = 0;
  for (const auto& [pair, bytes] : all_flows(call)) sum += bytes;
  return sum;
}

TEST(CollectiveModel, RingAllReduceSendsToTheNextRankAlone) {
  FlowSums expected;
  for (int i = 0; i < 4; ++i) expected[{i, (i + 1) % 4}] = 2 * 1000 * 3 / 4;
  EXPECT_EQ(all_flows({Collective::kAllReduce, CollectiveAlgorithm::kRing, 4, 0, 1000}), expected);
}

TEST(CollectiveModel, RingSumsAreExactWhereRanksDoNotDivideTheBytes) {
  for (const std::uint64_t n : {2u, 3u, 7u, 16u}) {
    const int ranks = static_cast<int>(n);
    const auto sum = [&](Collective collective) {
      return total_bytes({collective, CollectiveAlgorithm::kRing, ranks, 0, 1001});
    };
    EXPECT_EQ(sum(Collective::kAllReduce), 2 * 1001 * (n - 1));
    EXPECT_EQ(sum(Collective::kAllGather), 1001 * (n - 1));
    EXPECT_EQ(sum(Collective::kReduceScatter), 1001 * (n - 1));
    EXPECT_EQ(sum(Collective::kBroadcast), 1001 * (n - 1));
    EXPECT_EQ(sum(Collective::kReduce), 1001 * (n - 1));
  }
}

TEST(CollectiveModel, RingsOfARootBeginOrEndThere) {
  const FlowSums sent = {{{2, 3}, 50}, {{3, 0}, 50}, {{0, 1}, 50}};
  EXPECT_EQ(all_flows({Collective::kBroadcast, CollectiveAlgorithm::kRing, 4, 2, 50}), sent);
  const FlowSums reduced = {{{3, 0}, 50}, {{0, 1}, 50}, {{1, 2}, 50}};
  EXPECT_EQ(all_flows({Collective::kReduce, CollectiveAlgorithm::kRing, 4, 2, 50}), reduced);
}

TEST(CollectiveModel, BlocksOfDifferentSizesTravelAroundTheRing) {
  const std::vector<std::uint64_t> blocks = {10, 0, 300};
  CollectiveCall call{Collective::kAllGather, CollectiveAlgorithm::kRing, 3, 0, 0, blocks};
  // A rank passes on all blocks but that of the next.
  EXPECT_EQ(all_flows(call), (FlowSums{{{0, 1}, 310}, {{1, 2}, 10}, {{2, 0}, 300}}));
  call.collective = Collective::kReduceScatter;
  EXPECT_EQ(all_flows(call), (FlowSums{{{0, 1}, 300}, {{1, 2}, 310}, {{2, 0}, 10}}));
}

TEST(CollectiveModel, TheDoubleTreeSendsEveryLinkUpAndDown) {
  for (int ranks = 2; ranks <= 40; ++ranks) {
    const CollectiveCall call{Collective::kAllReduce, CollectiveAlgorithm::kTree, ranks, 0, 1001};
    const FlowSums flows = all_flows(call);
    std::uint64_t sum = 0;
    for (const auto& [pair, bytes] : flows) {
      sum += bytes;
      const auto back = flows.find({pair.second, pair.first});
      ASSERT_NE(back, flows.end()) << ranks << ": " << pair.first << " to " << pair.second;
      EXPECT_EQ(back->second, bytes);
    }
    EXPECT_EQ(sum, 2 * 1001 * (static_cast<std::uint64_t>(ranks) - 1)) << ranks;
  }
}

TEST(CollectiveModel, TreesOfARootReachEveryRankOnce) {
  for (const int ranks : {2, 5, 8, 13}) {
    const auto flows =
        all_flows({Collective::kBroadcast, CollectiveAlgorithm::kTree, ranks, 1, 70});
    std::set<int> reached = {1};
    for (const auto& [pair, bytes] : flows) {
      EXPECT_EQ(bytes, 70u);
      EXPECT_TRUE(reached.insert(pair.second).second) << pair.second << " is reached twice";
    }
    EXPECT_EQ(reached.size(), static_cast<std::size_t>(ranks));
    const auto back = all_flows({Collective::kReduce, CollectiveAlgorithm::kTree, ranks, 1, 70});
    for (const auto& [pair, bytes] : flows) {
      EXPECT_TRUE(back.contains({pair.second, pair.first}));
    }
    EXPECT_EQ(back.size(), flows.size());
  }
}

TEST(CollectiveModel, AnNvlsSwitchGetsAndGivesTheBytesOnce) {
  FlowSums expected;
  for (int i = 0; i < 3; ++i) expected[{i, kSwitchRank}] = expected[{kSwitchRank, i}] = 600;
  EXPECT_EQ(all_flows({Collective::kAllReduce, CollectiveAlgorithm::kNvls, 3, 0, 600}), expected);
  for (int i = 0; i < 3; ++i) expected[{i, kSwitchRank}] = 200;
  EXPECT_EQ(all_flows({Collective::kAllGather, CollectiveAlgorithm::kNvls, 3, 0, 600}), expected);
  for (int i = 0; i < 3; ++i) {
    expected[{i, kSwitchRank}] = 600;
    expected[{kSwitchRank, i}] = 200;
  }
  EXPECT_EQ(all_flows({Collective::kReduceScatter, CollectiveAlgorithm::kNvls, 3, 0, 600}),
            expected);
}

TEST(CollectiveModel, PatTakesLogarithmicallyManySteps) {
  std::vector<Flow> flows;
  for (const int ranks : {2, 3, 6, 8, 21}) {
    for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter}) {
      const CollectiveCall call{collective, CollectiveAlgorithm::kPat, ranks, 0, 1001};
      EXPECT_EQ(total_bytes(call), 1001 * (static_cast<std::uint64_t>(ranks) - 1)) << ranks;
      model_flows(call, 1, flows);
      EXPECT_EQ(flows.size(), std::bit_width(static_cast<unsigned>(ranks - 1))) << ranks;
    }
  }
}

TEST(CollectiveModel, DirectAlgorithmsAndAllToAllSendToEveryRank) {
  const auto bytes = [](Collective collective) {
    return all_flows({collective, CollectiveAlgorithm::kDirect, 4, 0, 400});
  };
  FlowSums all;
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 4; ++k) {
      if (i != k) all[{i, k}] = 100;
    }
  }
  EXPECT_EQ(bytes(Collective::kAllToAll), all);
  EXPECT_EQ(bytes(Collective::kAllGather), all);
  EXPECT_EQ(bytes(Collective::kReduceScatter), all);
  for (auto& [pair, sum] : all) sum = 200;
  EXPECT_EQ(bytes(Collective::kAllReduce), all);
  EXPECT_EQ(bytes(Collective::kBroadcast), (FlowSums{{{0, 1}, 400}, {{0, 2}, 400}, {{0, 3}, 400}}));
  EXPECT_EQ(bytes(Collective::kReduce), (FlowSums{{{1, 0}, 400}, {{2, 0}, 400}, {{3, 0}, 400}}));
}

TEST(CollectiveModel, WhereEveryPairHasItsOwnDataThereIsOneWay) {
  for (const auto algorithm : {CollectiveAlgorithm::kRing, CollectiveAlgorithm::kTree}) {
    const auto flows = [&](Collective collective) {
      return all_flows({collective, algorithm, 3, 1, 30});
    };
    EXPECT_EQ(flows(Collective::kGather), (FlowSums{{{0, 1}, 30}, {{2, 1}, 30}}));
    EXPECT_EQ(flows(Collective::kScatter), (FlowSums{{{1, 0}, 30}, {{1, 2}, 30}}));
    EXPECT_EQ(flows(Collective::kScan), (FlowSums{{{0, 1}, 30}, {{1, 2}, 30}}));
  }
}

TEST(CollectiveModel, AnAlgorithmThatDoesNotKnowACollectiveStandsForRing) {
  EXPECT_EQ(all_flows({Collective::kAllGather, CollectiveAlgorithm::kTree, 4, 0, 400}),
            all_flows({Collective::kAllGather, CollectiveAlgorithm::kRing, 4, 0, 400}));
  EXPECT_EQ(all_flows({Collective::kBroadcast, CollectiveAlgorithm::kNvls, 4, 0, 400}),
            all_flows({Collective::kBroadcast, CollectiveAlgorithm::kRing, 4, 0, 400}));
}

TEST(CollectiveModel, OneRankSendsNothing) {
  std::vector<Flow> flows = {{0, 1, 2, 3}};
  model_flows({Collective::kAllReduce, CollectiveAlgorithm::kRing, 1, 0, 400}, 0, flows);
  EXPECT_TRUE(flows.empty());
}

TEST(CollectiveModel, NamesAreReadAsNcclAndPeopleWriteThem) {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  EXPECT_TRUE(parse_algorithm("NVLS_TREE", algorithm));
  EXPECT_EQ(algorithm, CollectiveAlgorithm::kNvls);
  EXPECT_TRUE(parse_algorithm("PAT", algorithm));
  EXPECT_STREQ(name_of(algorithm), "pat");
  EXPECT_FALSE(parse_algorithm("star", algorithm));
  EXPECT_EQ(algorithm_names(), (std::vector<std::string>{"ring", "tree", "direct", "nvls", "pat",
                                                         "halving-doubling"}));
  for (const std::string& name : algorithm_names()) {
    EXPECT_TRUE(parse_algorithm(name, algorithm)) << name;
    EXPECT_EQ(name_of(algorithm), name);
  }
  Collective collective = Collective::kScan;
  EXPECT_TRUE(parse_collective("ReduceScatter", collective));
  EXPECT_STREQ(name_of(collective), "reducescatter");
  EXPECT_TRUE(parse_collective("all_to_all", collective));
  EXPECT_EQ(collective, Collective::kAllToAll);
  EXPECT_FALSE(parse_collective("Barrier", collective));
}

TEST(CollectiveModel, HalvingAndDoublingExchangesShrinkingRangesWithPartners) {
  const CollectiveCall call{Collective::kAllReduce, CollectiveAlgorithm::kHalvingDoubling, 4, 0,
                            800};
  FlowSums expected;
  for (int rank = 0; rank < 4; ++rank) {
    expected[{rank, rank ^ 2}] = 800;  // half of it, and the other half back
    expected[{rank, rank ^ 1}] = 400;
  }
  EXPECT_EQ(all_flows(call), expected);
}

TEST(CollectiveModel, HalvingPartsBetweenUnits) {
  const CollectiveCall call{
      Collective::kAllReduce, CollectiveAlgorithm::kHalvingDoubling, 4, 0, 20, {}, 4};
  FlowSums expected;
  for (int rank = 0; rank < 4; ++rank) {
    expected[{rank, rank ^ 2}] = 20;  // 2 units and 3
    expected[{rank, rank ^ 1}] = (rank & 2) != 0 ? 12 : 8;
  }
  EXPECT_EQ(all_flows(call), expected);
}

TEST(CollectiveModel, RanksBeyondAPowerOfTwoGiveTheirVectorToANeighbour) {
  const CollectiveCall call{Collective::kAllReduce, CollectiveAlgorithm::kHalvingDoubling, 3, 0,
                            80};
  const FlowSums expected = {{{1, 0}, 80}, {{0, 1}, 80}, {{0, 2}, 80}, {{2, 0}, 80}};
  EXPECT_EQ(all_flows(call), expected);
}

TEST(CollectiveModel, ARingTakesTheChunksThatItsCallerMade) {
  const std::vector<std::uint64_t> chunks = {4, 4, 8};
  const CollectiveCall call{Collective::kAllReduce, CollectiveAlgorithm::kRing, 3, 0, 16, chunks};
  // All but the next rank's chunk, then all but that of the rank behind it.
  const FlowSums expected = {{{0, 1}, 20}, {{1, 2}, 20}, {{2, 0}, 24}};
  EXPECT_EQ(all_flows(call), expected);
}

// Messages that rank 0 sends, of each algorithm over 5 ranks.
TEST(CollectiveModel, MessagesAreTheStepsOfTheAlgorithm) {
  const auto messages = [](Collective collective, CollectiveAlgorithm algorithm) {
    std::vector<Flow> flows;
    model_flows({collective, algorithm, 5, 0, 1000}, 0, flows);
    std::uint64_t sum = 0;
    for (const Flow& flow : flows) sum += flow.messages;
    return sum;
  };
  EXPECT_EQ(messages(Collective::kAllReduce, CollectiveAlgorithm::kRing), 8u);
  EXPECT_EQ(messages(Collective::kReduceScatter, CollectiveAlgorithm::kRing), 4u);
  EXPECT_EQ(messages(Collective::kAllGather, CollectiveAlgorithm::kRing), 4u);
  EXPECT_EQ(messages(Collective::kBroadcast, CollectiveAlgorithm::kRing), 1u);
  EXPECT_EQ(messages(Collective::kAllReduce, CollectiveAlgorithm::kDirect), 8u);
  EXPECT_EQ(messages(Collective::kReduceScatter, CollectiveAlgorithm::kDirect), 4u);
  EXPECT_EQ(messages(Collective::kAllGather, CollectiveAlgorithm::kPat), 3u);
}

TEST(CollectiveModel, PatSendsTheBlocksThatARankStillNeeds) {
  const std::vector<std::uint64_t> blocks = {10, 0, 300};
  CollectiveCall call{Collective::kReduceScatter, CollectiveAlgorithm::kPat, 3, 0, 0, blocks};
  // Of three ranks each sends to both others the part of that one's block.
  const FlowSums reduced = {{{0, 2}, 300}, {{0, 1}, 0}, {{1, 0}, 10},
                            {{1, 2}, 300}, {{2, 1}, 0}, {{2, 0}, 10}};
  EXPECT_EQ(all_flows(call), reduced);
  call.collective = Collective::kAllGather;
  const FlowSums gathered = {{{0, 1}, 10}, {{0, 2}, 10},  {{1, 2}, 0},
                             {{1, 0}, 0},  {{2, 0}, 300}, {{2, 1}, 300}};
  EXPECT_EQ(all_flows(call), gathered);
}

}  // namespace
}  // namespace tandem::trace
