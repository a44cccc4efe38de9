// SPDX-License-Identifier: Apache-2.0
//
// The host's side of rings by itself: which posts are served, when, and which are not.
#include "engine/attention/ring_thread.h"

#include <gtest/gtest.h>

#include <mutex>
#include <vector>

namespace tandem::engine {
namespace {

// Two lanes, and the compute unit's side of them.
class Rings {
 public:
  explicit Rings(std::function<void(std::size_t, std::uint32_t)> serve)
      : thread_(lanes_, [this, serve](std::size_t lane, std::uint32_t tag) {
          serve(lane, tag);
          return answers_;
        }) {}

  RingThread& thread() { return thread_; }
  void answer_nothing() { answers_ = false; }  // while closed
  void post(std::size_t lane, std::uint32_t tag) {
    word(lanes_[lane].posted).store(++count_[lane] << 32 | tag, std::memory_order_release);
  }
  bool is_answered(std::size_t lane) {
    return word(lanes_[lane].answered).load(std::memory_order_acquire) >> 32 == count_[lane];
  }
  void await(std::size_t lane) {
    while (!is_answered(lane) && !is_abandoned(lane)) std::this_thread::yield();
  }
  bool is_abandoned(std::size_t lane) { return word(lanes_[lane].abandoned).load() != 0; }

 private:
  static std::atomic_ref<std::uint64_t> word(std::uint64_t& value) {
    return std::atomic_ref(value);
  }
  device::RingWords lanes_[2] = {};
  std::uint64_t count_[2] = {};
  bool answers_ = true;
  RingThread thread_;
};

TEST(RingThreadTest, AnswersWhatWasPostedInItsOrder) {
  std::vector<std::uint32_t> seen[2];  // the thread's while it is open
  Rings rings([&](std::size_t lane, std::uint32_t tag) { seen[lane].push_back(tag); });
  for (std::uint32_t step = 0; step < 20; ++step) {
    rings.thread().open();
    for (std::uint32_t layer = 0; layer < 8; ++layer) {
      rings.post(0, layer);
      rings.post(1, 100 + layer);
      rings.await(1);
      rings.await(0);
    }
    rings.thread().close();
    for (std::size_t lane = 0; lane < 2; ++lane) {
      ASSERT_EQ(seen[lane].size(), 8u * (step + 1));
      for (std::uint32_t layer = 0; layer < 8; ++layer) {
        EXPECT_EQ(seen[lane][8 * step + layer], 100 * lane + layer);
      }
    }
  }
}

TEST(RingThreadTest, ServesNothingWhileItIsClosed) {
  std::vector<std::uint32_t> seen;
  Rings rings([&](std::size_t, std::uint32_t tag) { seen.push_back(tag); });
  rings.post(0, 1);
  rings.thread().open();
  rings.thread().close();
  EXPECT_TRUE(seen.empty()) << "what was there before is not of the step";
  rings.post(0, 2);
  rings.thread().open();
  rings.post(0, 3);
  rings.await(0);
  rings.thread().close();
  EXPECT_EQ(seen, std::vector<std::uint32_t>{3});
}

TEST(RingThreadTest, IsDoneWithWhatItServesWhenClosed) {
  std::atomic<bool> served{false}, inside{false};
  Rings rings([&](std::size_t, std::uint32_t) {
    inside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    served = true;
  });
  rings.thread().open();
  rings.post(1, 0);
  while (!inside) std::this_thread::yield();
  rings.thread().close();
  EXPECT_TRUE(served);
  EXPECT_TRUE(rings.is_answered(1));
}

TEST(RingThreadTest, AnswersAfterLongSilence) {
  Rings rings([](std::size_t, std::uint32_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // it sleeps until a step begins
  rings.thread().open();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // and naps in it
  rings.post(0, 0);
  rings.await(0);
  rings.thread().close();
}

TEST(RingThreadTest, NobodyWaitsForOneThatHasGivenUp) {
  Rings rings([](std::size_t, std::uint32_t) {});
  rings.post(0, 0);
  EXPECT_FALSE(rings.is_answered(0));
  rings.thread().abandon();
  rings.await(0);
  rings.await(1);
}

TEST(RingThreadTest, AbandonsWhatItCannotAnswer) {
  Rings rings([](std::size_t, std::uint32_t) {});
  rings.answer_nothing();
  rings.thread().open();
  rings.post(0, 0);
  rings.await(0);
  rings.thread().close();
  EXPECT_TRUE(rings.is_abandoned(0));
  EXPECT_FALSE(rings.is_answered(0));
  rings.thread().clear();
  EXPECT_FALSE(rings.is_abandoned(0));
}

TEST(RingThreadTest, LeavesOpenOrClosed) {
  for (const bool open : {false, true}) {
    Rings rings([](std::size_t, std::uint32_t) {});
    if (open) rings.thread().open();
    rings.post(0, 0);
  }
}

}  // namespace
}  // namespace tandem::engine
