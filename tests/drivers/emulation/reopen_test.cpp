// SPDX-License-Identifier: Apache-2.0
//
// A process that opens cards again and again, as a daemon does when cards are lost, keeps neither
// threads nor memory of the earlier times.
#include <malloc.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "emulated_cards.h"
#include "forked_process.h"
#include "shim_functions.h"
#include "support/card_processes.h"

namespace tandem::emulation_test {
namespace {

std::ptrdiff_t num_threads() {
  namespace fs = std::filesystem;
  return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

// Threads that are ending are still listed for a moment.
bool threads_fall_to(std::ptrdiff_t most) {
  return eventually([most] { return num_threads() <= most; });
}

void use_card(unsigned index) {
  TrialCard card(index);
  EXPECT_EQ(card.run(kWrite, 3), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(card.fetch()[0], 3u);
}

TEST(ReopenedCard, KeepsNoThreadOfEarlierTimes) {
  use_card(0);
  const auto before = num_threads();
  for (unsigned time = 0; time < 20; ++time) use_card(time % 2);
  EXPECT_TRUE(threads_fall_to(before)) << num_threads() << " instead of " << before;
}

TEST(ReopenedCard, KeepsNoThreadOfThoseThatWereLost) {
  use_card(0);
  const auto before = num_threads();
  for (int time = 0; time < 20; ++time) {
    TrialCard card;
    ASSERT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
    kill(test::card_processes().at(0), SIGKILL);
    EXPECT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_ERROR);
  }
  EXPECT_TRUE(threads_fall_to(before)) << num_threads() << " instead of " << before;
}

TEST(ReopenedCard, KeepsNoMemoryOfEarlierTimes) {
  for (int time = 0; time < 5; ++time) use_card(0);
  const auto before = mallinfo2().uordblks;
  for (int time = 0; time < 20; ++time) use_card(0);
  // XRT's tables take twice that for every new address.
  EXPECT_LT(mallinfo2().uordblks, before + 20 * 1024);
}

// A thread that waits for a command holds the lost card for a while after the last handle.
TEST(ReopenedCard, IsANewOneThoughAThreadStillUsesTheLostOne) {
  auto lost = std::make_unique<TrialCard>();
  kill(test::card_processes().at(0), SIGKILL);
  EXPECT_EQ(lost->run(kWrite, 1), ERT_CMD_STATE_ERROR);
  const auto handle = static_cast<xclDeviceHandle>(lost->device);
  std::atomic<bool> waits{false};
  const std::jthread waiter([&] {
    while (TANDEM_SHIM(xclExecWait)(handle, 0) == 1) continue;
    waits.store(true);
    TANDEM_SHIM(xclExecWait)(handle, 2000);
  });
  EXPECT_TRUE(eventually([&] { return waits.load(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  lost.reset();
  EXPECT_EQ(TrialCard().run(kWrite, 2), ERT_CMD_STATE_COMPLETED);
}

// As many as are open at a time, each with its own.
TEST(ReopenedCard, HasNoThreadOfOneThatIsOpen) {
  const auto use_three = [] {
    TrialCard one(0), other(1);
    auto last = std::make_optional<TrialCard>(0);
    EXPECT_EQ(last->run(kWrite, 5), ERT_CMD_STATE_COMPLETED);
    last.reset();
    EXPECT_EQ(one.run(kWrite, 6), ERT_CMD_STATE_COMPLETED);
    EXPECT_EQ(other.run(kWrite, 7), ERT_CMD_STATE_COMPLETED);
    EXPECT_EQ(one.fetch()[0], 6u);
    EXPECT_EQ(other.fetch()[0], 7u);
  };
  use_three();
  const auto before = num_threads();
  for (int time = 0; time < 3; ++time) use_three();
  EXPECT_TRUE(threads_fall_to(before)) << num_threads() << " instead of " << before;
}

// XRT's threads for the parent's cards are not in the child: a callback there needs a new one.
TEST(ReopenedCard, HasItsThreadInAForkedChildToo) {
  if (kThreadSanitizer) GTEST_SKIP() << "threads of forked children are taken for the parent's";
  TrialCard().expect_callback(kWrite, ERT_CMD_STATE_COMPLETED);
  ForkedProcess child([](Line&) {
    TrialCard().expect_callback(kWrite, ERT_CMD_STATE_COMPLETED);
    return !testing::Test::HasFailure();
  });
  EXPECT_TRUE(child.ended_well());
}

}  // namespace
}  // namespace tandem::emulation_test
