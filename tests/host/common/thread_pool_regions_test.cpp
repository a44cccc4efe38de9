// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool on regions: a worker takes its own region first, then helps; placement; binding.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "common/error.h"
#include "common/thread_binding.h"
#include "common/thread_pool.h"

namespace tandem {
namespace {

using Bounds = std::vector<std::size_t>;

// A plan of unbound threads on nodes that this machine need not have.
ThreadPlan plan_of(const std::vector<int>& threads_of_nodes) {
  ThreadPlan plan;
  plan.num_nodes = static_cast<int>(threads_of_nodes.size());
  for (int node = 0; node < plan.num_nodes; ++node) {
    const auto count = static_cast<std::size_t>(threads_of_nodes[static_cast<std::size_t>(node)]);
    for (std::size_t i = 0; i < count; ++i) plan.threads.push_back({node, {}});
  }
  return plan;
}

std::size_t region_of(const Bounds& bounds, std::size_t part) {
  std::size_t region = 0;
  while (part >= bounds[region + 1]) ++region;
  return region;
}

TEST(PoolRegions, RunEveryPartOnceWhateverTheRegions) {
  std::mt19937 random(7);
  for (const std::vector<int>& nodes : {std::vector{1}, {4}, {2, 2}, {1, 3}, {1, 1, 1}}) {
    ThreadPool pool(plan_of(nodes));
    for (int round = 0; round < 40; ++round) {
      Bounds bounds{0};
      for (std::size_t r = 1 + random() % 6; r > 0; --r) {
        bounds.push_back(bounds.back() + random() % 20);  // some are empty
      }
      std::vector<std::atomic<int>> runs(bounds.back());
      std::vector<std::atomic<int>> busy(static_cast<std::size_t>(pool.num_threads()));
      pool.run_regions(bounds, [&](std::size_t part, std::size_t worker) {
        EXPECT_EQ(busy.at(worker).fetch_add(1), 0);
        runs.at(part) += 1;
        busy[worker] -= 1;
      });
      for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST(PoolRegions, AWorkerBeginsAtHome) {
  for (const std::vector<int>& nodes : {std::vector{2, 2}, {1, 3}, {3, 1}}) {
    ThreadPool pool(plan_of(nodes));
    // As many parts as workers, each waiting for all: everybody takes exactly one.
    const Bounds bounds{0, static_cast<std::size_t>(nodes[0]), 4};
    std::atomic<int> inside{0};
    std::vector<std::size_t> region_of_worker(4, 9);
    pool.run_regions(bounds, [&](std::size_t part, std::size_t worker) {
      region_of_worker[worker] = region_of(bounds, part);
      inside += 1;
      while (inside.load() < 4) std::this_thread::yield();
    });
    for (int worker = 0; worker < 4; ++worker) {
      EXPECT_EQ(region_of_worker[static_cast<std::size_t>(worker)],
                static_cast<std::size_t>(pool.node_of(worker)));
    }
  }
}

TEST(PoolRegions, GoInOrderWithinARegion) {
  ThreadPool pool(plan_of({1}));
  std::vector<std::size_t> order;
  pool.run_regions(Bounds{0, 3, 3, 6},
                   [&](std::size_t part, std::size_t) { order.push_back(part); });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
}

TEST(PoolRegions, OthersHelpARegionWhoseWorkerIsSlow) {
  ThreadPool pool(plan_of({1, 1}));
  // The caller's first part ends only when all parts but one have: somebody else must take them.
  const Bounds bounds{0, 10, 12};
  std::atomic<int> ended{0};
  std::atomic<bool> held{false};
  std::vector<std::size_t> worker_of(12, 9);
  pool.run_regions(bounds, [&](std::size_t part, std::size_t worker) {
    worker_of[part] = worker;
    if (worker == 0 && !held.exchange(true)) {
      while (ended.load() < 11) std::this_thread::yield();
    }
    ended += 1;
  });
  EXPECT_EQ(ended.load(), 12);
  // None at all where the other thread was so quick that the caller found nothing left.
  EXPECT_LE(std::count(worker_of.begin(), worker_of.end(), 0u), 1);
}

TEST(PoolRegions, PlaceRunsEveryPartAtHomeAlone) {
  for (const std::vector<int>& nodes : {std::vector{1}, {4}, {2, 2}, {1, 3}, {1, 1}}) {
    ThreadPool pool(plan_of(nodes));
    const std::size_t count = nodes.size();
    Bounds bounds{0};
    for (std::size_t r = 0; r < count; ++r) bounds.push_back(bounds.back() + 5 + r);
    for (int round = 0; round < 20; ++round) {
      std::vector<int> workers(bounds.back(), -1);
      pool.place(bounds, [&](std::size_t part, std::size_t worker) {
        EXPECT_EQ(workers.at(part), -1);
        workers[part] = static_cast<int>(worker);
      });
      for (std::size_t part = 0; part < workers.size(); ++part) {
        ASSERT_GE(workers[part], 0);
        EXPECT_EQ(pool.node_of(workers[part]), static_cast<int>(region_of(bounds, part)));
      }
    }
  }
}

TEST(PoolRegions, PlaceDealsRegionsToWorkersToo) {
  ThreadPool pool(plan_of({4}));
  std::vector<std::size_t> workers(4, 9);
  pool.place(Bounds{0, 1, 2, 3, 4}, [&](std::size_t part, std::size_t w) { workers[part] = w; });
  EXPECT_EQ(workers, (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_THROW(pool.place(Bounds{0, 1, 2, 3, 4, 5}, [](std::size_t, std::size_t) {}), Error);
}

TEST(PoolRegions, RethrowTheErrorOfAPartAndGoOn) {
  ThreadPool pool(plan_of({2, 2}));
  const Bounds bounds{0, 8, 16};
  for (const bool placing : {false, true}) {
    std::atomic<int> runs{0};
    const auto body = [&](std::size_t part, std::size_t) {
      runs += 1;
      if (part == 3) throw std::runtime_error("part 3");
    };
    if (placing) {
      EXPECT_THROW(pool.place(bounds, body), std::runtime_error);
    } else {
      EXPECT_THROW(pool.run_regions(bounds, body), std::runtime_error);
    }
    EXPECT_EQ(runs.load(), 16);
  }
  pool.run(4, [](std::size_t) {});
}

TEST(PoolRegions, NothingToDoIsNothing) {
  ThreadPool pool(plan_of({2}));
  const auto never = [](std::size_t, std::size_t) { FAIL(); };
  pool.run_regions({}, never);
  pool.run_regions(Bounds{0}, never);
  pool.run_regions(Bounds{0, 0, 0}, never);
  pool.place(Bounds{0, 0}, never);
  pool.place({}, never);
}

TEST(PoolBinding, BindsWorkersAndLeavesTheCallerAlone) {
  const std::vector<int> before = affinity_mask();
  const int threads = this_machine().num_cores;
  ThreadPool pool(ThreadPoolOptions{threads, Pin::kOn});
  std::mutex mutex;
  std::set<std::vector<int>> masks;
  std::atomic<int> inside{0};
  pool.run(static_cast<std::size_t>(threads), [&](std::size_t, std::size_t worker) {
    inside += 1;
    while (inside.load() < threads) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    const std::vector<int> mask = affinity_mask();
    EXPECT_EQ(mask, worker == 0 ? before : pool.plan().threads[worker].processors);
    if (worker != 0) masks.insert(mask);
  });
  EXPECT_EQ(static_cast<int>(masks.size()), threads - 1);
  // Placing binds the caller too, for as long as it lasts.
  const Bounds bounds{0, 1};
  ThreadPool alone(ThreadPoolOptions{1, Pin::kOn});
  alone.place(bounds, [&](std::size_t, std::size_t) { EXPECT_EQ(affinity_mask().size(), 1u); });
  EXPECT_EQ(affinity_mask(), before);
}

TEST(PoolBinding, GoesOnWhereTheSystemRefuses) {
  ThreadPlan plan = plan_of({2});
  plan.threads[0].processors = plan.threads[1].processors = {100000};  // no such processor
  ThreadPool pool(plan);
  std::atomic<int> runs{0};
  pool.run(10, [&](std::size_t) { runs += 1; });
  pool.place(Bounds{0, 10}, [&](std::size_t, std::size_t) { runs += 1; });
  EXPECT_EQ(runs.load(), 20);
}

TEST(PoolBinding, ALaterPoolSeesTheWholeMachineFromABoundThread) {
  const int threads = ThreadPool().num_threads();
  const BindingScope bound({affinity_mask().front()});
  EXPECT_EQ(ThreadPool().num_threads(), threads);
}

TEST(PoolBinding, OversubscribedThreadsMakeProgress) {
  ThreadPool pool(8);
  ThreadPool rival(8);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop.load()) rival.run(16, [](std::size_t) {});
  });
  std::atomic<int> runs{0};
  for (int round = 0; round < 300; ++round) pool.run(16, [&](std::size_t) { runs += 1; });
  stop = true;
  other.join();
  EXPECT_EQ(runs.load(), 300 * 16);
}

}  // namespace
}  // namespace tandem
