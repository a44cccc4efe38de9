// SPDX-License-Identifier: Apache-2.0
//
// Processors of described machines and of this one, and plans for threads on them.
#include "common/processors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "common/cpu_quota.h"
#include "common/error.h"
#include "common/thread_plan.h"

namespace tandem {
namespace {

using Ids = std::vector<int>;

constexpr const char* kTwoSockets = "numa:2 l3:1 core:4 pu:2";  // 16 processors: 0, 1 on core 0

Ids range(int begin, int end) {
  Ids ids;
  for (int id = begin; id < end; ++id) ids.push_back(id);
  return ids;
}

// A described machine, as if this process ran on it.
class DescribedMachine : public testing::Test {
 protected:
  void SetUp() override {
    if (!processors_are_known()) GTEST_SKIP() << "this build has no hwloc";
  }

  static ProcessorLayout machine(const std::string& synthetic, std::optional<Ids> allowed = {}) {
    ProcessorSource source;
    source.synthetic = synthetic;
    source.allowed = std::move(allowed);
    ProcessorLayout layout = read_processors(source);
    EXPECT_FALSE(layout.is_this_machine);
    layout.is_this_machine = true;
    return layout;
  }

  // Where every thread is bound, -1 for those that are not; only for plans by processor.
  static Ids processors(const ThreadPlan& plan) {
    Ids ids;
    for (const ThreadPlace& place : plan.threads) {
      EXPECT_LE(place.processors.size(), 1u);
      ids.push_back(place.processors.empty() ? -1 : place.processors.front());
    }
    return ids;
  }

  static Ids nodes(const ThreadPlan& plan) {
    Ids ids;
    for (const ThreadPlace& place : plan.threads) ids.push_back(place.node);
    return ids;
  }
};

using ProcessorsTest = DescribedMachine;
using PlanTest = DescribedMachine;

TEST_F(ProcessorsTest, CountsCoresCachesAndNodes) {
  const ProcessorLayout small = machine("numa:1 core:2 pu:1");
  EXPECT_EQ(small.processors.size(), 2u);
  EXPECT_EQ(small.num_cores, 2);
  EXPECT_EQ(small.num_nodes, 1);

  const ProcessorLayout large = machine(kTwoSockets);
  EXPECT_EQ(large.processors.size(), 16u);
  EXPECT_EQ(large.num_cores, 8);
  EXPECT_EQ(large.num_caches, 2);
  EXPECT_EQ(large.num_nodes, 2);
  for (const Processor& processor : large.processors) {
    EXPECT_EQ(processor.node, processor.id / 8);
    EXPECT_EQ(processor.cache, processor.id / 8);
    EXPECT_EQ(processor.core, processor.id / 2);
    EXPECT_EQ(processor.thread, processor.id % 2);
  }
}

TEST_F(ProcessorsTest, LeavesOutWhatTheMaskExcludes) {
  // Of core 0 the second thread only, nothing of cores 1 to 3, the second node's last core.
  const ProcessorLayout left = machine(kTwoSockets, Ids{1, 14, 15});
  ASSERT_EQ(left.processors.size(), 3u);
  EXPECT_EQ(left.num_nodes, 2);
  EXPECT_EQ(left.num_cores, 2);
  EXPECT_EQ(left.processors[0].id, 1);
  EXPECT_EQ(left.processors[0].thread, 0);  // the first that is usable
  EXPECT_EQ(left.processors[2].id, 15);
  EXPECT_EQ(left.processors[2].thread, 1);

  const ProcessorLayout one_node = machine(kTwoSockets, range(8, 16));
  EXPECT_EQ(one_node.num_nodes, 1);
  EXPECT_EQ(one_node.num_caches, 1);
  EXPECT_EQ(one_node.processors.front().node, 0);
}

TEST_F(ProcessorsTest, RefusesWhatDescribesNoMachine) {
  EXPECT_THROW(machine("numa:2 core:"), Error);
  EXPECT_THROW(machine("nonsense"), Error);
  EXPECT_THROW(machine("core:2 pu:1", Ids{7}), Error);
  ProcessorSource source;
  source.xml_path = "/nonexistent/machine.xml";
  EXPECT_THROW(read_processors(source), Error);
}

TEST(ThisMachine, HasTheProcessorsOfTheMask) {
  const ProcessorLayout& here = this_machine();
  EXPECT_TRUE(here.is_this_machine);
  Ids ids;
  for (const Processor& processor : here.processors) ids.push_back(processor.id);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(ids, affinity_mask());
  EXPECT_EQ(here.cache_bytes.size(), static_cast<std::size_t>(here.num_caches));
  EXPECT_LE(here.num_nodes, here.num_cores);
  EXPECT_LE(here.num_cores, static_cast<int>(here.processors.size()));
}

TEST(FlatProcessors, IsACoreOfOneNodePerProcessor) {
  const ProcessorLayout flat = flat_processors({3, 5}, 1.5);
  ASSERT_EQ(flat.processors.size(), 2u);
  EXPECT_EQ(flat.processors[1].id, 5);
  EXPECT_EQ(flat.processors[1].core, 1);
  EXPECT_EQ(flat.num_cores, 2);
  EXPECT_EQ(flat.num_nodes, 1);
  EXPECT_EQ(flat.quota, 1.5);
  EXPECT_EQ(flat_processors({}, 1).processors.size(), 1u);
}

TEST_F(PlanTest, TakesEveryCoreOnceAndNoHyperThread) {
  const ThreadPlan plan = plan_threads(machine(kTwoSockets), 0, Pin::kAuto);
  EXPECT_EQ(processors(plan), (Ids{0, 2, 4, 6, 8, 10, 12, 14}));
  EXPECT_EQ(nodes(plan), (Ids{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(plan.num_nodes, 2);
  EXPECT_FALSE(plan.crowded);
  EXPECT_EQ(processors(plan_threads(machine("numa:1 core:2 pu:1"), 0, Pin::kAuto)), (Ids{0, 1}));
}

TEST_F(PlanTest, FillsNodesEvenlyThenHyperThreads) {
  const ProcessorLayout both = machine(kTwoSockets);
  EXPECT_EQ(processors(plan_threads(both, 2, Pin::kOn)), (Ids{0, 8}));
  EXPECT_EQ(processors(plan_threads(both, 5, Pin::kOn)), (Ids{0, 2, 4, 8, 10}));
  EXPECT_EQ(processors(plan_threads(both, 10, Pin::kOn)), (Ids{0, 1, 2, 4, 6, 8, 9, 10, 12, 14}));
  EXPECT_EQ(processors(plan_threads(both, 16, Pin::kOn)), range(0, 16));
  // A mask that leaves one core to the first node.
  const ProcessorLayout uneven = machine(kTwoSockets, Ids{0, 8, 10, 12, 14});
  EXPECT_EQ(nodes(plan_threads(uneven, 4, Pin::kOn)), (Ids{0, 1, 1, 1}));
}

TEST_F(PlanTest, SpreadsOverTheCachesOfANode) {
  const ProcessorLayout four_caches = machine("numa:2 l3:2 core:4 pu:1");  // caches of 4 cores
  EXPECT_EQ(four_caches.num_caches, 4);
  EXPECT_EQ(processors(plan_threads(four_caches, 4, Pin::kOn)), (Ids{0, 4, 8, 12}));
  EXPECT_EQ(processors(plan_threads(four_caches, 8, Pin::kOn)), (Ids{0, 1, 4, 5, 8, 9, 12, 13}));
}

TEST_F(PlanTest, BindsToNodesWhenItTakesPartOfTheCores) {
  const ThreadPlan plan = plan_threads(machine(kTwoSockets), 4, Pin::kAuto);
  EXPECT_EQ(nodes(plan), (Ids{0, 0, 1, 1}));
  EXPECT_EQ(plan.threads[0].processors, range(0, 8));
  EXPECT_EQ(plan.threads[3].processors, range(8, 16));
  EXPECT_EQ(processors(plan_threads(machine("numa:1 core:4 pu:1"), 2, Pin::kAuto)), (Ids{-1, -1}));
}

TEST_F(PlanTest, BindsNobodyWhereThatIsUnwise) {
  const ProcessorLayout both = machine(kTwoSockets);
  for (const auto& [threads, pin] : {std::pair{8, Pin::kOff}, {9, Pin::kAuto}, {40, Pin::kAuto}}) {
    const ThreadPlan plan = plan_threads(both, threads, pin);
    EXPECT_EQ(plan.threads.size(), static_cast<std::size_t>(threads));
    EXPECT_EQ(plan.num_nodes, 1);
    for (const ThreadPlace& place : plan.threads) EXPECT_TRUE(place.processors.empty());
    EXPECT_EQ(plan.crowded, threads > 16);
  }
  EXPECT_THROW(plan_threads(both, 17, Pin::kOn), Error);
  ProcessorLayout elsewhere = both;
  elsewhere.is_this_machine = false;
  EXPECT_EQ(plan_threads(elsewhere, 8, Pin::kAuto).threads[0].processors, Ids{});
}

TEST_F(PlanTest, StaysWithinTheQuota) {
  ProcessorLayout throttled = machine(kTwoSockets);
  throttled.quota = 2.5;
  EXPECT_EQ(plan_threads(throttled, 0, Pin::kAuto).threads.size(), 3u);
  EXPECT_TRUE(plan_threads(throttled, 3, Pin::kAuto).crowded);
  const ThreadPlan two = plan_threads(throttled, 2, Pin::kAuto);
  EXPECT_FALSE(two.crowded);
  throttled.quota = 0.2;
  EXPECT_EQ(plan_threads(throttled, 0, Pin::kAuto).threads.size(), 1u);
}

TEST_F(PlanTest, GivesEveryThreadAProcessorOfItsOwnWhateverTheMask) {
  const ProcessorLayout all = machine(kTwoSockets);
  for (unsigned mask = 1; mask < (1u << 16); mask = mask * 3 + 1) {
    Ids allowed;
    for (int id = 0; id < 16; ++id) {
      if ((mask >> id & 1) != 0) allowed.push_back(id);
    }
    const ProcessorLayout layout = machine(kTwoSockets, allowed);
    for (int threads = 1; threads <= static_cast<int>(allowed.size()); ++threads) {
      const Ids ids = processors(plan_threads(layout, threads, Pin::kOn));
      EXPECT_EQ(std::set<int>(ids.begin(), ids.end()).size(), ids.size());
      std::set<int> cores;
      for (const int id : ids) {
        EXPECT_TRUE(std::find(allowed.begin(), allowed.end(), id) != allowed.end());
        cores.insert(id / 2);
      }
      EXPECT_EQ(static_cast<int>(cores.size()), std::min(threads, layout.num_cores));
    }
  }
}

class QuotaTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::string full = root_ + "/" + path;
    std::filesystem::create_directories(std::filesystem::path(full).parent_path());
    std::ofstream(full) << text;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string root_ = testing::TempDir() + "tandem_quota_" + std::to_string(getpid());
};

TEST_F(QuotaTest, IsInfiniteWithoutAny) {
  EXPECT_EQ(cpu_quota(root_), std::numeric_limits<double>::infinity());
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_quota(root_), std::numeric_limits<double>::infinity());
}

TEST_F(QuotaTest, IsTheSmallestOfTheGroupAndThoseAbove) {
  write("proc/self/cgroup", "0::/slice/job/step\n");
  write("sys/fs/cgroup/slice/job/step/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/slice/job/cpu.max", "250000 100000\n");
  write("sys/fs/cgroup/slice/cpu.max", "400000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 2.5);
  write("sys/fs/cgroup/cpu.max", "50000 100000\n");  // a container sees its own group at the root
  EXPECT_EQ(cpu_quota(root_), 0.5);
}

TEST_F(QuotaTest, ReadsGroupsOfVersionOne) {
  write("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/job\n0::/\n");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root_), 1.5);
}

TEST_F(QuotaTest, PassesOverLinesItCannotRead) {
  write("proc/self/cgroup", "\n:\n0:\n0::\n7:cpu:relative\n0::/job\n");
  write("sys/fs/cgroup/job/cpu.max", "100000 0\n");
  EXPECT_EQ(cpu_quota(root_), std::numeric_limits<double>::infinity());
  write("sys/fs/cgroup/job/cpu.max", "300000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 3);
}

}  // namespace
}  // namespace tandem
