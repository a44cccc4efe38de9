// SPDX-License-Identifier: Apache-2.0
//
// WorkPool and Timers: bounds, order, and their ends.
#include "server/work_pool.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "server/timers.h"

namespace tandem::server {
namespace {

// Holds the one thread of a pool until open().
struct Gate {
  explicit Gate(WorkPool& pool) {
    EXPECT_TRUE(pool.try_post([this, opened = opened_.get_future().share()] {
      entered_.set_value();
      opened.wait();
    }));
    entered_.get_future().wait();
  }
  void open() { opened_.set_value(); }

 private:
  std::promise<void> opened_, entered_;
};

TEST(WorkPool, RefusesRequestsBeyondItsQueueButNeverWorkThatGoesOn) {
  WorkPool pool(1, 2);
  Gate gate(pool);
  std::promise<void> last;
  EXPECT_TRUE(pool.try_post([] {}));
  EXPECT_TRUE(pool.try_post([] {}));
  EXPECT_FALSE(pool.try_post([] {}));
  for (int i = 0; i < 9; ++i) pool.post([] {});
  pool.post([&] { last.set_value(); });
  gate.open();
  last.get_future().wait();
}

TEST(WorkPool, RequestsAndWorkThatGoesOnTakeTurns) {
  WorkPool pool(1, 8);
  Gate gate(pool);
  std::string order;  // only the pool's thread writes
  std::promise<void> done;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pool.try_post([&] { order += 'r'; }));
  for (int i = 0; i < 3; ++i) pool.post([&] { order += 'g'; });
  pool.post([&] { done.set_value(); });
  gate.open();
  done.get_future().wait();
  EXPECT_TRUE(order == "grgrgr" || order == "rgrgrg") << order;
}

TEST(WorkPool, AnExceptionEndsOnlyItsOwnWork) {
  WorkPool pool(1, 8);
  std::promise<void> done;
  pool.post([] { throw std::runtime_error("bad work"); });
  pool.post([&] { done.set_value(); });
  done.get_future().wait();
}

TEST(WorkPool, StopDropsWhatWaitsAndTakesNothingMore) {
  auto held = std::make_shared<int>(0);
  WorkPool pool(1, 8);
  Gate gate(pool);
  EXPECT_TRUE(pool.try_post([held] { ++*held; }));
  std::thread stopping([&] { pool.stop(); });
  while (held.use_count() > 1)
    std::this_thread::yield();  // dropped before the work in progress ends
  gate.open();
  stopping.join();
  EXPECT_FALSE(pool.try_post([held] { ++*held; }));
  pool.post([held] { ++*held; });
  EXPECT_EQ(*held, 0);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Timers, CallInTheOrderOfTheirTimes) {
  for (bool is_apart = false; !is_apart;) {
    std::string order;
    std::promise<void> done;
    Timers timers;
    const auto begin = Timers::Clock::now();
    timers.after(std::chrono::milliseconds(800), [&] { done.set_value(); });
    timers.after(std::chrono::milliseconds(400), [&] { order += 'b'; });
    timers.after(std::chrono::milliseconds(0), [&] { order += 'a'; });
    // A busy machine may stop this thread between two calls: then their times have another order.
    is_apart = Timers::Clock::now() - begin < std::chrono::milliseconds(300);
    done.get_future().wait();
    timers.stop();
    if (is_apart) {
      EXPECT_EQ(order, "ab");
    }
  }
}

TEST(Timers, ACancelledActionIsDroppedAndOthersStay) {
  Timers timers;
  auto held = std::make_shared<int>(0);
  const Timers::Id id = timers.after(std::chrono::hours(1), [held] { ++*held; });
  std::promise<void> done;
  timers.after(std::chrono::milliseconds(1), [&] { done.set_value(); });
  timers.cancel(id);
  EXPECT_EQ(held.use_count(), 1);
  done.get_future().wait();
  timers.after(std::chrono::hours(1), [held] { ++*held; });
  timers.stop();
  EXPECT_EQ(held.use_count(), 1);
  timers.after(std::chrono::hours(0), [held] { ++*held; });
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace tandem::server
