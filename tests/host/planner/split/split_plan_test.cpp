// SPDX-License-Identifier: Apache-2.0
//
// plan_split() beside all orders and numbers of layers, in virtual time, and where nothing fits.
#include "planner/split/split_plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "host/planner/message_of.h"
#include "planner/graph/schedule.h"

namespace tandem::planner {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMiB = 1 << 20;

SplitDevice device_of(const std::string& id, double row_s, double prompt_s, std::int64_t memory) {
  SplitDevice device;
  device.cost.id = id;
  device.cost.dense_by_rows = Curve({{1, row_s}, {64, prompt_s}});
  device.memory_bytes = memory;
  return device;
}

SplitModel model_of(int layers) {
  SplitModel model;
  model.num_layers = layers;
  model.layer_bytes = 10 * kMiB;
  model.embedding_bytes = 5 * kMiB;
  model.output_bytes = 7 * kMiB;
  model.fixed_bytes = kMiB;
  model.row_bytes = 4096;
  model.output_share = 0.1;
  return model;
}

// Whether every device holds what the plan gives it.
bool keeps_memory(const SplitModel& model, const std::vector<SplitDevice>& devices,
                  const SplitPlan& plan) {
  for (std::size_t at = 0; at < plan.devices.size(); ++at) {
    std::int64_t bytes = model.fixed_bytes + model.layer_bytes * plan.layers_per_device[at];
    if (at == 0) bytes += model.embedding_bytes;
    if (at + 1 == plan.devices.size()) bytes += model.output_bytes;
    if (bytes > devices[static_cast<std::size_t>(plan.devices[at])].memory_bytes) return false;
  }
  return true;
}

// The least time of all orders and numbers that keep the memory; infinite if there is none.
double least_seconds(const SplitModel& model, const std::vector<SplitDevice>& devices,
                     const SplitLoad& load) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<int> order(devices.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    for (int first = 0; first <= model.num_layers; ++first) {
      for (int second = 0; first + second <= model.num_layers; ++second) {
        const std::vector<int> counts = {first, second, model.num_layers - first - second};
        SplitPlan plan;
        for (std::size_t at = 0; at < counts.size(); ++at) {
          if (counts[at] == 0) continue;
          plan.devices.push_back(order[at]);
          plan.layers_per_device.push_back(counts[at]);
        }
        if (!keeps_memory(model, devices, plan)) continue;
        least = std::min(least, split_seconds(model, devices, load, plan));
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(SplitPlan, IsTheFastestOfAllOrdersAndNumbersOfLayers) {
  std::mt19937_64 random(3);
  const auto between = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int num_refused = 0, num_shared = 0;
  for (int round = 0; round < 150; ++round) {
    SplitModel model = model_of(between(3, 9));
    if (round % 3 == 0) model.output_bytes = 0;
    std::vector<SplitDevice> devices;
    for (int device = 0; device < 3; ++device) {
      const double row_s = between(1, 40) * 1e-4;
      devices.push_back(device_of("d" + std::to_string(device), row_s, row_s * between(2, 30),
                                  between(5, 70) * kMiB));
      if (round % 2 == 0) devices.back().cost.to_device = {between(1, 50) * 1e-5, 1e9};
    }
    const double least = least_seconds(model, devices, {});
    SplitPlan plan;
    const std::string refused = message_of([&] { plan = plan_split(model, devices, {}); });
    if (least == std::numeric_limits<double>::infinity()) {
      ++num_refused;
      EXPECT_THAT(refused, HasSubstr("does not fit"));
      continue;
    }
    ASSERT_EQ(refused, "") << round;
    ASSERT_TRUE(keeps_memory(model, devices, plan)) << round;
    ASSERT_NEAR(plan.seconds, least, 1e-9) << round;
    ASSERT_NEAR(split_seconds(model, devices, {}, plan), least, 1e-9) << round;
    num_shared += plan.devices.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(num_refused, 5);
  EXPECT_GT(num_shared, 20);
}

// The layers of a plan as a chain of operators, run by the evaluator in virtual time.
double virtual_seconds(const SplitModel& model, const std::vector<SplitDevice>& devices,
                       const std::vector<int>& order, const std::vector<int>& counts) {
  std::vector<OperatorNode> nodes;
  std::vector<OperatorEdge> edges;
  Placement placement;
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (int layer = 0; layer < counts[at]; ++layer) {
      const int id = static_cast<int>(nodes.size());
      if (id > 0) edges.push_back({.from = id - 1, .to = id});
      OperatorNode& node = nodes.emplace_back();
      node.name = std::to_string(id);
      node.output_bytes = model.row_bytes;
      for (const SplitDevice& device : devices) {
        const double layer_s = device.cost.dense_s(1) / model.num_layers;
        node.kind_ps.push_back(static_cast<std::int64_t>(layer_s * 1e12));
      }
      placement.push_back(order[at]);
    }
  }
  const OperatorGraph graph(std::move(nodes), std::move(edges));
  DeviceLinks links;
  links.num_devices = static_cast<int>(devices.size());
  for (int device = 0; device < links.num_devices; ++device) links.kinds.push_back(device);
  links.latency_ps = 5 * kPicosecondsPerMicrosecond;
  links.bytes_per_us = 1e4;
  Evaluator evaluator(graph, links);
  return static_cast<double>(evaluator.run(placement).makespan_ps) * 1e-12;
}

TEST(SplitPlan, BeatsLayersInOrderOnUnequalDevicesInVirtualTime) {
  const SplitModel model = model_of(32);
  const std::vector<SplitDevice> devices = {device_of("slow", 40e-3, 80e-3, 400 * kMiB),
                                            device_of("fast", 4e-3, 10e-3, 200 * kMiB),
                                            device_of("middle", 12e-3, 30e-3, 90 * kMiB)};
  const SplitPlan plan = plan_split(model, devices, {});
  EXPECT_TRUE(plan.by_layers);
  EXPECT_TRUE(keeps_memory(model, devices, plan));
  const double in_order = virtual_seconds(model, devices, {0, 1, 2}, {10, 11, 11});
  const double planned = virtual_seconds(model, devices, plan.devices, plan.layers_per_device);
  EXPECT_LT(planned * 1.5, in_order);
  EXPECT_LT(plan.seconds * 1.5, plan.equal_seconds);
}

TEST(SplitPlan, SharesAModelThatNoDeviceHolds) {
  const SplitModel model = model_of(10);  // 112 MiB
  const std::vector<SplitDevice> devices = {device_of("a", 2e-3, 4e-3, 60 * kMiB),
                                            device_of("b", 1e-3, 2e-3, 60 * kMiB)};
  const SplitPlan plan = plan_split(model, devices, {});
  EXPECT_TRUE(keeps_memory(model, devices, plan));
  EXPECT_THAT(plan.layers_per_device, ElementsAre(5, 5));
}

TEST(SplitPlan, UsesOneDeviceWhereOthersOnlyCostTime) {
  const std::vector<SplitDevice> devices = {device_of("slow", 3e-3, 6e-3, 500 * kMiB),
                                            device_of("fast", 1e-3, 2e-3, 500 * kMiB)};
  const SplitPlan plan = plan_split(model_of(10), devices, {});
  EXPECT_THAT(plan.devices, ElementsAre(1));
  EXPECT_THAT(plan.layers_per_device, ElementsAre(10));
}

TEST(SplitPlan, DividesMatricesWhereThatPays) {
  SplitModel model = model_of(10);
  model.divides = true;
  std::vector<SplitDevice> devices = {device_of("a", 20e-3, 40e-3, 500 * kMiB),
                                      device_of("b", 20e-3, 40e-3, 500 * kMiB)};
  EXPECT_TRUE(plan_split(model, devices, {}).by_layers) << "one works after the other";
  for (SplitDevice& device : devices) {
    device.computes_apart = true;
    device.cost.to_device = device.cost.from_device = {5e-6, 10e9};
  }
  const SplitPlan divided = plan_split(model, devices, {});
  EXPECT_FALSE(divided.by_layers);
  EXPECT_DOUBLE_EQ(divided.seconds, divided.matrix_seconds);
  EXPECT_THAT(divided.devices, ElementsAre(0, 1));
  // Half of the dense time of 64 rows one by one and of 64 together, and four passes per layer of
  // 65 latencies of 10 us and of 128 rows at 10 GB/s.
  const double sums = 4 * 10 * (65 * 10e-6 + 128 * 4096 / 10e9);
  EXPECT_NEAR(divided.seconds, (64 * 20e-3 + 40e-3) / 2 + sums, 1e-9);
  model.divides = false;
  EXPECT_TRUE(plan_split(model, devices, {}).by_layers);
  model.divides = true;
  for (SplitDevice& device : devices) device.cost.to_device.latency_s = 1e-3;
  EXPECT_TRUE(plan_split(model, devices, {}).by_layers) << "the sums take longer";
  for (SplitDevice& device : devices) device.cost.to_device.latency_s = 5e-6;
  devices[1].memory_bytes = 50 * kMiB;  // half of the model is 56 MiB
  EXPECT_TRUE(plan_split(model, devices, {}).by_layers);
}

TEST(SplitPlan, NamesTheBytesThatDoNotFit) {
  const std::vector<SplitDevice> devices = {device_of("cuda:0", 1e-3, 2e-3, 50 * kMiB),
                                            device_of("cpu", 1e-3, 2e-3, 30 * kMiB)};
  EXPECT_THAT(message_of([&] { plan_split(model_of(10), devices, {}); }),
              AllOf(HasSubstr("34 MiB of it have no device"), HasSubstr("a layer takes 10 MiB"),
                    HasSubstr("cuda:0 has 50 MiB"), HasSubstr("cpu has 30 MiB")));
  EXPECT_THAT(message_of([&] { plan_split(model_of(10), {}, {}); }), HasSubstr("needs devices"));
}

}  // namespace
}  // namespace tandem::planner
