// SPDX-License-Identifier: Apache-2.0
//
// Schedules of small graphs by hand, and of random ones against what every schedule keeps.
#include "planner/graph/schedule.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "host/planner/graph/graphs.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kUs = kPicosecondsPerMicrosecond;

std::int64_t makespan_us(const OperatorGraph& graph, const DeviceLinks& links,
                         const Placement& placement) {
  return Evaluator(graph, links).run(placement).makespan_ps / kUs;
}

TEST(DeviceLinksTest, AnEdgeCostsWholeMicrosecondsAndTheLatency) {
  DeviceLinks links;
  links.bytes_per_us = 140 * 1000.0;
  links.latency_ps = 25 * kUs;
  EXPECT_EQ(links.edge_ps(0), 25 * kUs);
  EXPECT_EQ(links.edge_ps(1), 26 * kUs);
  EXPECT_EQ(links.edge_ps(140'000), 26 * kUs);
  EXPECT_EQ(links.edge_ps(140'001), 27 * kUs);
}

TEST(Schedule, ADeviceRunsOneNodeAtATime) {
  const OperatorGraph graph({node_named("a", 4), node_named("b", 5)}, {});
  EXPECT_EQ(makespan_us(graph, slow_links(2, 3), {0, 0}), 9);
  EXPECT_EQ(makespan_us(graph, slow_links(2, 3), {0, 1}), 5);
}

TEST(Schedule, ACrossingEdgeCostsTransferAndLatency) {
  const OperatorGraph graph({node_named("a", 4, 6), node_named("b", 5)}, {edge_of(0, 1)});
  EXPECT_EQ(makespan_us(graph, slow_links(2, 3), {0, 0}), 9);
  EXPECT_EQ(makespan_us(graph, slow_links(2, 3), {0, 1}), 4 + 6 + 3 + 5);
}

TEST(Schedule, TheLongestWayGoesFirst) {
  const OperatorGraph graph({node_named("short", 4), node_named("long", 4), node_named("end", 9)},
                            {edge_of(1, 2)});
  Evaluator evaluator(graph, slow_links(1, 0));
  const Schedule& schedule = evaluator.run({0, 0, 0});
  EXPECT_THAT(schedule.start_ps, ElementsAre(13 * kUs, 0, 4 * kUs));
  EXPECT_THAT(schedule.waits_for, ElementsAre(2, -1, 1));
}

TEST(Schedule, ALinkCarriesOneTensorAtATimeWhileTheLatencyOverlaps) {
  const std::vector<OperatorNode> nodes = {node_named("a", 1), node_named("b", 10),
                                           node_named("c", 1)};
  const OperatorGraph two(nodes, {edge_of(0, 1, 4), edge_of(0, 2, 6)});
  Evaluator evaluator(two, slow_links(2, 5));
  EXPECT_THAT(evaluator.run({0, 1, 1}).start_ps,
              ElementsAre(0, (1 + 4 + 5) * kUs, (1 + 4 + 5 + 10) * kUs));
  EXPECT_THAT(Evaluator(two, slow_links(3, 5)).run({0, 1, 2}).start_ps,
              ElementsAre(0, (1 + 4 + 5) * kUs, (1 + 6 + 5) * kUs));
}

TEST(Schedule, AProducerSendsToTheConsumerWithTheLongestWayFirst) {
  const OperatorGraph graph({node_named("a", 1), node_named("short", 1), node_named("long", 10)},
                            {edge_of(0, 1, 4), edge_of(0, 2, 6)});
  Evaluator evaluator(graph, slow_links(2, 5));
  EXPECT_THAT(evaluator.run({0, 1, 1}).start_ps,
              ElementsAre(0, (1 + 6 + 5 + 10) * kUs, (1 + 6 + 5) * kUs));
}

TEST(Schedule, ASharedTensorGoesToADeviceOnce) {
  const std::vector<OperatorNode> nodes = {node_named("a", 1, 8), node_named("b", 2),
                                           node_named("c", 1)};
  const OperatorGraph shared(nodes, {edge_of(0, 1), edge_of(0, 2)});
  EXPECT_EQ(makespan_us(shared, slow_links(2, 0), {0, 1, 1}), 1 + 8 + 2 + 1);
  const OperatorGraph apart(nodes, {edge_of(0, 1, 8), edge_of(0, 2, 8)});
  EXPECT_EQ(makespan_us(apart, slow_links(2, 0), {0, 1, 1}), 1 + 8 + 8 + 1);
}

TEST(Schedule, NodesOfNoTimeAndLatencyOfNoneStillKeepTheirOrder) {
  const OperatorGraph graph({node_named("a", 0), node_named("b", 0), node_named("c", 0)},
                            {edge_of(0, 1), edge_of(1, 2)});
  EXPECT_EQ(makespan_us(graph, slow_links(2, 0), {0, 1, 0}), 0);
  EXPECT_EQ(makespan_us(graph, slow_links(2, 7), {0, 1, 0}), 14);
}

TEST(Schedule, ADeviceTakesTheTimesOfItsKind) {
  OperatorNode a = node_named("a", 0), b = node_named("b", 6);
  a.kind_ps = {4 * kUs, 9 * kUs};
  const OperatorGraph graph({a, b}, {edge_of(0, 1)});
  DeviceLinks links = slow_links(2, 0);
  links.kinds = {1, 0};
  EXPECT_EQ(makespan_us(graph, links, {0, 0}), 15);
  EXPECT_EQ(makespan_us(graph, links, {1, 1}), 10);
  EXPECT_EQ(graph.work_ps(), 10 * kUs);
  // The longest way goes first by the times of its own device.
  OperatorNode c = node_named("c", 0), d = node_named("d", 5);
  c.kind_ps = {1 * kUs, 7 * kUs};
  const OperatorGraph two({d, c}, {});
  EXPECT_THAT(Evaluator(two, links).run({0, 0}).start_ps, ElementsAre(7 * kUs, 0));
  EXPECT_THAT(Evaluator(two, links).run({1, 1}).start_ps, ElementsAre(0, 5 * kUs));
}

TEST(Schedule, TransfersAreOncePerTensorAndDevice) {
  const OperatorGraph graph(
      {node_named("a", 1, 8), node_named("b", 2), node_named("c", 1), node_named("d", 1)},
      {edge_of(0, 1), edge_of(0, 2), edge_of(0, 3, 3)});
  Evaluator evaluator(graph, slow_links(2, 5));
  const Placement placement = {0, 1, 1, 1};
  evaluator.run(placement);
  const std::vector<TensorTransfer> list = evaluator.transfers(placement);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].begin_ps, 1 * kUs);
  EXPECT_EQ(list[0].end_ps, 9 * kUs);
  EXPECT_EQ(list[1].begin_ps, 9 * kUs);
  EXPECT_EQ(list[1].end_ps, 12 * kUs);
  EXPECT_EQ(list[1].to, 1);
}

TEST(Schedule, KeepsPrecedenceAndDevicesOnRandomGraphs) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 60; ++round) {
    const OperatorGraph graph = random_graph({25, 15}, random);
    const DeviceLinks links = slow_links(3, 2);
    const Placement placement = random_placement(25, 3, random);
    Evaluator evaluator(graph, links);
    const Schedule schedule = evaluator.run(placement);
    std::map<int, std::vector<std::pair<std::int64_t, std::int64_t>>> runs;
    for (int node = 0; node < 25; ++node) {
      const auto at = static_cast<std::size_t>(node);
      ASSERT_EQ(schedule.end_ps[at] - schedule.start_ps[at], graph.node(node).time_ps);
      ASSERT_LE(schedule.end_ps[at], schedule.makespan_ps);
      runs[placement[at]].emplace_back(schedule.start_ps[at], schedule.end_ps[at]);
      for (const int id : graph.in(node)) {
        const auto from = static_cast<std::size_t>(graph.edge(id).from);
        const bool is_near = placement[from] == placement[at];
        ASSERT_GE(schedule.start_ps[at],
                  schedule.end_ps[from] + (is_near ? 0 : links.edge_ps(graph.edge_bytes(id))));
      }
    }
    for (auto& [device, spans] : runs) {
      std::ranges::sort(spans);
      for (std::size_t i = 1; i < spans.size(); ++i) {
        ASSERT_GE(spans[i].first, spans[i - 1].second) << "device " << device;
      }
    }
    const Schedule again = evaluator.run(placement);
    ASSERT_EQ(again.start_ps, schedule.start_ps);
  }
}

std::vector<std::int64_t> peaks_of(const OperatorGraph& graph, const DeviceLinks& links,
                                   const Placement& placement) {
  Evaluator evaluator(graph, links);
  evaluator.run(placement);
  return peak_bytes(graph, links, placement, evaluator.memory_spans(placement));
}

TEST(ScheduleMemory, ATensorLivesUntilItsLastConsumer) {
  // a's 10 bytes until c ends; b's 1 byte until c ends; c's 3 bytes.
  const OperatorGraph graph(
      {node_named("a", 1, 10), node_named("b", 1, 1), node_named("c", 1, 3), node_named("d", 1, 5)},
      {edge_of(0, 1), edge_of(0, 2), edge_of(1, 2), edge_of(2, 3)});
  EXPECT_THAT(peaks_of(graph, slow_links(1, 0), {0, 0, 0, 0}), ElementsAre(14));
}

TEST(ScheduleMemory, ACopyAndItsOriginBothCount) {
  const OperatorGraph graph({node_named("a", 1, 10), node_named("b", 1, 4)}, {edge_of(0, 1)});
  EXPECT_THAT(peaks_of(graph, slow_links(2, 0), {0, 1}), ElementsAre(10, 14));
}

TEST(ScheduleMemory, ResidentStaysAndWorkspaceGoes) {
  std::vector<OperatorNode> nodes = {node_named("a", 1, 2), node_named("b", 1, 3)};
  nodes[0].resident_bytes = 100;
  nodes[0].workspace_bytes = 30;
  nodes[1].workspace_bytes = 20;
  const OperatorGraph graph(nodes, {edge_of(0, 1)});
  EXPECT_THAT(peaks_of(graph, slow_links(2, 0), {0, 0}), ElementsAre(132, 0));
  nodes[0].time_ps = 0;  // for a moment only
  EXPECT_THAT(peaks_of(OperatorGraph(nodes, {}), slow_links(1, 0), {0, 0}), ElementsAre(132));
}

// Against the sum of all that is alive, asked at every time at which something begins.
TEST(ScheduleMemory, PeaksAreThoseOfTheSumOverTime) {
  std::mt19937_64 random(14);
  for (int round = 0; round < 40; ++round) {
    const OperatorGraph graph = random_graph({12, 25, true}, random);
    const DeviceLinks links = slow_links(2, 1);
    const Placement placement = random_placement(12, 2, random);
    Evaluator evaluator(graph, links);
    evaluator.run(placement);
    const std::vector<MemorySpan> spans = evaluator.memory_spans(placement);
    std::vector<std::int64_t> expected;
    for (int device = 0; device < 2; ++device) {
      std::int64_t resident = 0, most = 0;
      for (int node = 0; node < 12; ++node) {
        if (placement[static_cast<std::size_t>(node)] == device) {
          resident += graph.node(node).resident_bytes;
        }
      }
      for (const MemorySpan& moment : spans) {
        std::int64_t sum = 0;
        for (const MemorySpan& span : spans) {
          const bool is_alive = span.begin_ps <= moment.begin_ps &&
                                (moment.begin_ps < span.end_ps || span.begin_ps == moment.begin_ps);
          if (span.device == device && is_alive) sum += span.bytes;
        }
        most = std::max(most, sum);
      }
      expected.push_back(resident + most);
      const std::int64_t at =
          first_overflow_ps(graph, placement, spans, device, expected.back() - 1);
      EXPECT_GE(at, 0);
      EXPECT_EQ(first_overflow_ps(graph, placement, spans, device, expected.back()), -1);
    }
    ASSERT_EQ(peak_bytes(graph, links, placement, spans), expected);
  }
}

}  // namespace
}  // namespace tandem::planner
