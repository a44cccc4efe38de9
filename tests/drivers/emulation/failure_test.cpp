// SPDX-License-Identifier: Apache-2.0
//
// What an application sees when a kernel crashes or hangs, or a card's process is killed: error
// states, at once.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "emulated_cards.h"
#include "forked_process.h"
#include "support/card_processes.h"

namespace tandem::emulation_test {
namespace {

using test::card_processes;

class KernelCrash : public testing::TestWithParam<Mode> {};

TEST_P(KernelCrash, EndsInAnErrorState) {
  TrialCard card;
  ASSERT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(card.run(GetParam(), 2), ERT_CMD_STATE_ERROR);
}

TEST_P(KernelCrash, MakesLaterLaunchesFailAtOnce) {
  TrialCard card;
  card.run(GetParam(), 0);
  for (int launch = 0; launch < 3; ++launch) EXPECT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_ERROR);
  EXPECT_THROW(card.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE), std::exception);
}

TEST_P(KernelCrash, LeavesTheOtherCardAlone) {
  TrialCard crashing(0);
  TrialCard other(1);
  crashing.run(GetParam(), 0);
  ASSERT_EQ(other.run(kWrite, 9), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(other.fetch()[0], 9u);
}

TEST_P(KernelCrash, IsOverOnceTheDeviceIsReopened) {
  { EXPECT_EQ(TrialCard().run(GetParam(), 0), ERT_CMD_STATE_ERROR); }
  TrialCard card;
  ASSERT_EQ(card.run(kWrite, 3), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(card.fetch()[0], 3u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, KernelCrash,
                         testing::Values(kReadNull, kAbort, kWriteFarAway, kThrow, kExit,
                                         kOverflowStack));

TEST(KernelCrash, ReachesACallback) { TrialCard().expect_callback(kAbort, ERT_CMD_STATE_ERROR); }

TEST(KilledCard, FailsRunningAndQueuedCommandsAndTheApplicationGoesOn) {
  TrialCard card;
  std::vector<xrt::run> runs;
  for (int launch = 0; launch < 10; ++launch) {
    runs.push_back(card.kernel(static_cast<uint32_t>(kSleep), 30'000'000u, card.out));
  }
  const auto processes = card_processes();
  ASSERT_EQ(processes.size(), 1u);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(processes[0], SIGKILL);
  });
  for (auto& run : runs) EXPECT_EQ(run.wait(std::chrono::milliseconds(20000)), ERT_CMD_STATE_ERROR);
  killer.join();
  EXPECT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_ERROR);
}

TEST(KilledCard, WhileIdleIsNoticedByTheNextLaunch) {
  TrialCard card;
  ASSERT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
  kill(card_processes().at(0), SIGKILL);
  EXPECT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_ERROR);
}

TEST(StoppedCard, GivesAndTakesMemoryAndThenGoesOn) {
  TrialCard card;
  std::vector<xrt::bo> buffers;
  for (int i = 0; i < 500; ++i) buffers.emplace_back(card.device, 4096, card.kernel.group_id(2));
  const pid_t process = card_processes().at(0);
  test::stop(process);
  buffers.clear();
  xrt::bo another(card.device, 4096, card.kernel.group_id(2));
  xrt::kernel kernel(card.device, card.uuid, "trial");
  auto run = kernel(static_cast<uint32_t>(kWrite), 7u, another);
  EXPECT_EQ(run.wait(std::chrono::milliseconds(20)), ERT_CMD_STATE_TIMEOUT);
  ASSERT_EQ(kill(process, SIGCONT), 0);
  EXPECT_EQ(run.wait(std::chrono::milliseconds(20000)), ERT_CMD_STATE_COMPLETED);
  another.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  EXPECT_EQ(another.map<uint32_t*>()[0], 7u);
}

// More commands than a unit's queue holds (1024): the launch waits for room.
TEST(StoppedCard, TakesMoreCommandsThanItsQueueHoldsOnceItGoesOn) {
  TrialCard card;
  const pid_t process = card_processes().at(0);
  test::stop(process);
  std::atomic<int> launched{0};
  std::thread waker([&] {
    while (launched.load() < 1024) std::this_thread::yield();
    kill(process, SIGCONT);
  });
  std::vector<xrt::run> runs;
  for (int launch = 0; launch < 1100; ++launch, ++launched) {
    runs.push_back(card.kernel(static_cast<uint32_t>(kWrite), 3u, card.out));
  }
  waker.join();
  for (auto& run : runs) {
    EXPECT_EQ(run.wait(std::chrono::milliseconds(20000)), ERT_CMD_STATE_COMPLETED);
  }
}

TEST(HungKernel, WaitTimesOutAndTheApplicationCanEnd) {
  TrialCard card;
  card.out.map<uint32_t*>()[2] = 0;
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto run = card.kernel(static_cast<uint32_t>(kWaitForFlag), 1u, card.out);
  EXPECT_EQ(run.wait(std::chrono::milliseconds(50)), ERT_CMD_STATE_TIMEOUT);
  EXPECT_TRUE(eventually([&] { return run.state() == ERT_CMD_STATE_RUNNING; }));
}

TEST(HungKernel, CanBeAborted) {
  TrialCard card;
  card.out.map<uint32_t*>()[2] = 0;
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto run = card.kernel(static_cast<uint32_t>(kWaitForFlag), 1u, card.out);
  EXPECT_EQ(run.wait(std::chrono::milliseconds(20)), ERT_CMD_STATE_TIMEOUT);
  EXPECT_EQ(run.abort(), ERT_CMD_STATE_ABORT);
}

TEST(HungKernel, ASlowOneCompletesAfterATimeout) {
  TrialCard card;
  xrt::bo out(card.device, 4096, xrt::bo::flags::host_only, card.kernel.group_id(2));
  out.map<uint32_t*>()[2] = 0;
  auto run = card.kernel(static_cast<uint32_t>(kWaitForFlag), 1u, out);
  EXPECT_EQ(run.wait(std::chrono::milliseconds(10)), ERT_CMD_STATE_TIMEOUT);
  reinterpret_cast<std::atomic<uint32_t>*>(out.map<uint32_t*>() + 2)->store(1);
  EXPECT_EQ(run.wait(std::chrono::milliseconds(20000)), ERT_CMD_STATE_COMPLETED);
}

TEST(ForkedChild, ThatClosesTheDeviceLeavesTheCardToItsParent) {
  auto card = std::make_unique<TrialCard>();
  ASSERT_EQ(card->run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
  const pid_t child = fork();
  if (child == 0) {
    card.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(card->fetch()[0], 1u);
  EXPECT_EQ(card->run(kWrite, 2), ERT_CMD_STATE_COMPLETED);
}

bool is_gone(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string id, name, state;
  return !(in >> id >> name >> state) || state == "Z";
}

// The card of an application that was killed while its kernel computed, or its card was stopped.
pid_t card_of_killed_application(bool stop_card) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    TrialCard card;
    auto run = card.kernel(static_cast<uint32_t>(kSleep), 30'000'000u, card.out);
    const pid_t process = card_processes().at(0);
    if (stop_card) test::stop(process);
    if (write(ends[1], &process, sizeof(process)) != sizeof(process)) _exit(1);
    pause();
  }
  close(ends[1]);
  pid_t process = -1;
  if (read(ends[0], &process, sizeof(process)) != sizeof(process)) process = -1;
  close(ends[0]);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return process;
}

TEST(KilledApplication, TakesItsCardAlong) {
  const pid_t card = card_of_killed_application(false);
  ASSERT_GT(card, 0);
  EXPECT_TRUE(eventually([&] { return is_gone(card); }));
}

TEST(KilledApplication, TakesAStoppedCardAlong) {
  const pid_t card = card_of_killed_application(true);
  ASSERT_GT(card, 0);
  EXPECT_TRUE(eventually([&] { return is_gone(card); }));
}

TEST(OpenCard, IsNotAmongTheChildrenAProgramWaitsFor) {
  int subreaper = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  if (getpid() == 1 || subreaper != 0) GTEST_SKIP() << "orphans become children of this process";
  TrialCard card;
  const pid_t child = fork();
  if (child == 0) _exit(3);
  int status = 0;
  EXPECT_EQ(wait(&status), child);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(wait(&status), -1);
  EXPECT_EQ(card.run(kWrite, 5), ERT_CMD_STATE_COMPLETED);
}

TEST(ClosedDevice, LeavesNoProcessBehind) {
  {
    TrialCard card;
    EXPECT_EQ(card_processes().size(), 1u);
  }
  EXPECT_TRUE(card_processes().empty());
}

}  // namespace
}  // namespace tandem::emulation_test
