// SPDX-License-Identifier: Apache-2.0
//
// Team: regions of nodes, tiles placed and run, and the probe that reads them.
#include "cpu/team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "cpu/host_memory.h"
#include "cpu/read_bandwidth.h"

namespace tandem::device::cpu {
namespace {

using tiling::Box;
using tiling::box_of;

// Three workers on node 0 and one on node 1, none of them bound.
ThreadPlan uneven_plan() {
  ThreadPlan plan;
  plan.num_nodes = 2;
  plan.threads = {{0, {}}, {0, {}}, {0, {}}, {1, {}}};
  return plan;
}

TEST(Team, GivesEveryNodeARegionAsLargeAsItsShareOfWorkers) {
  Team team(uneven_plan());
  EXPECT_EQ(team.size(), 4);
  EXPECT_EQ(team.num_nodes(), 2);
  const auto regions = team.regions(box_of<2>({80, 7}), {4, 7});
  ASSERT_EQ(regions.num_regions(), 2u);
  EXPECT_EQ(regions.region(0), (Box<2>{{0, 0}, {60, 7}}));
  EXPECT_EQ(regions.region(1), (Box<2>{{60, 0}, {80, 7}}));
  EXPECT_EQ(Team(3).regions(box_of<1>({9}), {1}).num_regions(),
            static_cast<std::size_t>(Team(3).num_nodes()));
}

TEST(Team, PlacesATileByWorkersOfItsNodeAndRunsItOnce) {
  Team team(uneven_plan());
  const auto regions = team.regions(box_of<2>({41, 30}), {4, 8}, 1);
  std::vector<std::atomic<int>> node_of(41 * 30), runs(41 * 30);
  const auto visit = [](const Box<2>& tile, const auto& at_point) {
    for (std::int64_t i = tile.lower[0]; i < tile.upper[0]; ++i) {
      for (std::int64_t j = tile.lower[1]; j < tile.upper[1]; ++j) {
        at_point(static_cast<std::size_t>(i * 30 + j));
      }
    }
  };
  team.place(regions, [&](const Box<2>& tile, std::size_t worker) {
    const auto node = static_cast<std::size_t>(team.node_of(static_cast<int>(worker)));
    EXPECT_GE(tile.lower[1], regions.region(node).lower[1]);  // the dimension that is cut
    EXPECT_LE(tile.upper[1], regions.region(node).upper[1]);
    visit(tile, [&](std::size_t at) { node_of[at] += 1; });
  });
  team.run_regions(regions, [&](const Box<2>& tile, std::size_t worker) {
    EXPECT_LT(worker, 4u);
    visit(tile, [&](std::size_t at) { runs[at] += 1; });
  });
  for (std::size_t at = 0; at < runs.size(); ++at) {
    EXPECT_EQ(node_of[at].load(), 1);
    EXPECT_EQ(runs[at].load(), 1);
  }
}

TEST(Team, RunsRegionsMadeForAnotherTeam) {
  Team four(uneven_plan()), one(1);
  const auto regions = four.regions(box_of<1>({100}), {3});
  std::vector<int> runs(100, 0);
  one.run_regions(regions, [&](const Box<1>& tile, std::size_t worker) {
    EXPECT_EQ(worker, 0u);
    for (std::int64_t i = tile.lower[0]; i < tile.upper[0]; ++i) {
      runs[static_cast<std::size_t>(i)] += 1;
    }
  });
  for (const int count : runs) EXPECT_EQ(count, 1);
}

TEST(Team, ReadsAtSomeSpeedWhateverTheNodes) {
  for (const bool two_nodes : {false, true}) {
    ThreadPlan plan = uneven_plan();
    if (!two_nodes) plan = ThreadPlan{{{0, {}}}, 1, false};
    Team team(plan);
    ReadProbe probe(team, std::size_t{8} << 20);
    EXPECT_GT(probe.measure(), 0);
  }
}

TEST(Team, AProbeOfTheMemoryTakesAtMostAQuarterOfWhatIsLeft) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  EXPECT_EQ(probe_bytes(128 * kMiB, 4096 * kMiB), 128 * kMiB);
  EXPECT_EQ(probe_bytes(128 * kMiB, 512 * kMiB), 128 * kMiB);
  EXPECT_EQ(probe_bytes(128 * kMiB, 160 * kMiB), 40 * kMiB);
  EXPECT_EQ(probe_bytes(128 * kMiB, 39 * kMiB + 5), 9 * kMiB) << "whole parts";
  EXPECT_EQ(probe_bytes(128 * kMiB, kMiB), kMiB) << "it needs a part";
  EXPECT_EQ(probe_bytes(128 * kMiB, 0), kMiB);
}

}  // namespace
}  // namespace tandem::device::cpu
