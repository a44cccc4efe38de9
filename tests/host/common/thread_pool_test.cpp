// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool: every part runs once; errors, reuse, and concurrent callers.
#include "common/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "common/error.h"

namespace tandem {
namespace {

TEST(ThreadPool, RunsEveryPartOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    for (const std::size_t parts : {0u, 1u, 2u, 7u, 1000u}) {
      std::vector<std::atomic<int>> runs(parts);
      pool.run(parts, [&](std::size_t part) { runs.at(part) += 1; });
      for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadPool, HasAtLeastOneThreadByDefault) { EXPECT_GE(ThreadPool().num_threads(), 1); }

TEST(ThreadPool, SharesPartsAmongItsThreads) {
  ThreadPool pool(2);
  std::atomic<int> waiting{0};
  // Two parts that each wait for the other can only end on two threads.
  pool.run(2, [&](std::size_t) {
    waiting += 1;
    while (waiting.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(waiting.load(), 2);
}

TEST(ThreadPool, SeesWhatPartsWroteAfterEveryOfManyShortRuns) {
  ThreadPool pool(4);
  std::vector<int> values(4, 0);
  for (int round = 1; round <= 20000; ++round) {
    pool.run(values.size(), [&](std::size_t part) { values[part] += 1; });
    for (const int value : values) ASSERT_EQ(value, round);
  }
}

TEST(ThreadPool, WakesWorkersThatWentToSleep) {
  ThreadPool pool(3);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<int> inside{0};
    pool.run(3, [&](std::size_t) {
      inside += 1;
      while (inside.load() < 3) std::this_thread::yield();
    });
    EXPECT_EQ(inside.load(), 3);
  }
}

// A worker that wakes late for the job must not miss the end. Hangs otherwise, in few of the turns.
TEST(ThreadPool, EndsRightAfterAJob) {
  for (int turn = 0; turn < 1000; ++turn) {
    ThreadPool pool(3);
    pool.run(1, [](std::size_t) {});
  }
}

TEST(ThreadPool, RethrowsTheErrorOfAPartAndGoesOn) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const auto fail = [](std::size_t part) {
      if (part == 5) throw std::runtime_error("part 5");
    };
    EXPECT_THROW(pool.run(10, fail), std::runtime_error);
    std::atomic<int> runs{0};
    pool.run(10, [&](std::size_t) { runs += 1; });
    EXPECT_EQ(runs.load(), 10);
  }
}

TEST(ThreadPool, RefusesARunWithinItsOwnPart) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads), other(2);
    for (const std::size_t parts : {1u, 6u}) {
      EXPECT_THROW(pool.run(parts, [&](std::size_t) { pool.run(2, [](std::size_t) {}); }), Error);
      // Another pool's run is fine, and what follows it is still part of the first pool's.
      std::atomic<int> inner{0};
      const auto both = [&](std::size_t) {
        other.run(3, [&](std::size_t) { inner += 1; });
        pool.run(2, [](std::size_t) {});
      };
      EXPECT_THROW(pool.run(parts, both), Error);
      EXPECT_EQ(inner.load(), 3 * static_cast<int>(parts));
    }
  }
}

TEST(ThreadPool, NumbersTheWorkersThatRunParts) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> busy(3);
  for (int round = 0; round < 200; ++round) {
    pool.run(7, [&](std::size_t, std::size_t worker) {
      EXPECT_EQ(busy.at(worker).fetch_add(1), 0);
      std::this_thread::yield();
      busy[worker] -= 1;
    });
  }
  pool.run(1, [](std::size_t, std::size_t worker) { EXPECT_EQ(worker, 0u); });
}

TEST(ThreadPool, WaitsForAPartThatTakesLong) {
  ThreadPool pool(2);
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> begun{0};
    bool ended = false;
    // The caller's part ends at once; it waits long enough to fall asleep.
    pool.run(2, [&](std::size_t, std::size_t worker) {
      begun += 1;
      while (begun.load() < 2) std::this_thread::yield();
      if (worker == 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ended = true;
    });
    EXPECT_TRUE(ended);
  }
}

TEST(ThreadPool, MakesASecondCallerWaitItsTurn) {
  ThreadPool pool(2);
  std::atomic<int> runs{0};
  const auto caller = [&] {
    for (int i = 0; i < 200; ++i) pool.run(5, [&](std::size_t) { runs += 1; });
  };
  std::thread other(caller);
  caller();
  other.join();
  EXPECT_EQ(runs.load(), 2 * 200 * 5);
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

// Of the address space, beyond what the process has now.
void leave_room(std::size_t bytes) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit limits{limit, limit};
  setrlimit(RLIMIT_AS, &limits);
}

TEST(ThreadPoolDeathTest, SaysThatThreadsCannotBeMadeAndEndsThoseThatWere) {
  if (!kLimitsMemory) GTEST_SKIP() << "a sanitizer keeps shadows of the address space";
  const auto make_too_many = [] {
    leave_room(std::size_t{256} << 20);
    try {
      ThreadPool pool(400);
    } catch (const Error& error) {
      std::cerr << error.what();
      ThreadPool(2).run(2, [](std::size_t) {});
      std::_Exit(0);
    }
    std::_Exit(1);
  };
  EXPECT_EXIT(make_too_many(), testing::ExitedWithCode(0), "of 400 threads.*use fewer");
}

}  // namespace
}  // namespace tandem
