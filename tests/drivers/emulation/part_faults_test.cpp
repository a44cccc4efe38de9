// SPDX-License-Identifier: Apache-2.0
//
// What an application sees through XRT of the faults of commands, transfers, memory and loads; and
// that a seed or a log repeats them.
#include <gmock/gmock.h>
#include <unistd.h>
#include <xrt/xrt_bo.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <thread>
#include <vector>

#include "emulated_cards.h"
#include "emulation/faults/tandem_card_faults.h"
#include "fault_cases.h"
#include "forked_process.h"
#include "shim_functions.h"

namespace tandem::emulation_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CommandFault, LateEndComesLaterWithItsResult) {
  TrialCard card;
  CardFaults faults("launch 1 late by=100ms");
  const auto begin = std::chrono::steady_clock::now();
  auto run = start_write(card, 5);
  EXPECT_EQ(run.wait(kFaultLong), ERT_CMD_STATE_COMPLETED);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(100));
  EXPECT_EQ(card.fetch()[0], 5u);
}

TEST(CommandFault, LateEndShowsItsDoneBitLate) {
  TrialCard card(0, "trial:{trial_1}");
  const auto handle = static_cast<xclDeviceHandle>(card.device);
  const int unit = TANDEM_SHIM(xclIPName2Index)(handle, "trial:trial_1");
  const auto is_done = [&] {
    uint32_t control = 0;
    EXPECT_EQ(TANDEM_SHIM(xclRegRead)(handle, static_cast<uint32_t>(unit), 0, &control), 0);
    return (control & 2) != 0;
  };
  CardFaults faults("launch 1 late by=3600s");
  auto run = start_write(card, 5);
  EXPECT_TRUE(eventually([&] { return card.fetch()[0] == 5u; }));
  for (int look = 0; look < 100; ++look) {
    ASSERT_FALSE(is_done());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(run.abort(), ERT_CMD_STATE_ABORT);
}

TEST(CommandFault, NeverEndsWithoutAResultAndCanBeAborted) {
  TrialCard card;
  ASSERT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
  CardFaults faults("launch 1 never");
  auto run = start_write(card, 2);
  EXPECT_EQ(run.wait(kFaultShort), ERT_CMD_STATE_TIMEOUT);
  EXPECT_TRUE(eventually([&] { return run.state() == ERT_CMD_STATE_RUNNING; }));
  EXPECT_EQ(card.fetch()[0], 1u);
  EXPECT_EQ(run.abort(), ERT_CMD_STATE_ABORT);
}

TEST(CommandFault, LostInterruptLeavesTheResultAndNoEnd) {
  TrialCard card(0, "trial:{trial_1}");
  CardFaults faults("launch 1 lost_interrupt");
  auto run = start_write(card, 2);
  EXPECT_EQ(run.wait(kFaultShort), ERT_CMD_STATE_TIMEOUT);
  EXPECT_TRUE(eventually([&] { return run.state() == ERT_CMD_STATE_RUNNING; }));
  EXPECT_TRUE(eventually([&] { return card.fetch()[0] == 2; }));
  EXPECT_EQ(run.abort(), ERT_CMD_STATE_ABORT);
  EXPECT_EQ(card.run(kWrite, 3), ERT_CMD_STATE_COMPLETED) << "the unit goes on after the abort";
}

TEST(CommandFault, SecondEndIsNoEndOfTheNextCommand) {
  TrialCard card(0, "trial:{trial_1}");
  CardFaults faults("launch 1 twice");
  card.out.map<uint32_t*>()[2] = 0;
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  EXPECT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
  auto run = card.kernel(static_cast<uint32_t>(kSleepUntilFlag), 1u, card.out);
  EXPECT_EQ(run.wait(kFaultShort), ERT_CMD_STATE_TIMEOUT);
  card.out.map<uint32_t*>()[2] = 1;  // its sync alone: the kernel writes the words before it
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE, sizeof(uint32_t), 2 * sizeof(uint32_t));
  EXPECT_EQ(run.wait(kFaultLong), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(card.fetch()[1], 2u) << "the kernel itself ran once each";
}

TEST(CommandFault, FailEndsInTheErrorStateOrIsNotAccepted) {
  TrialCard card;
  CardFaults faults("launch 1 fail; launch 2 fail error=EBUSY");
  card.out.map<uint32_t*>()[0] = 11;
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  EXPECT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_ERROR);
  EXPECT_EQ(error_of([&] { start_write(card, 2); }), EBUSY);
  EXPECT_EQ(card.fetch()[0], 11u);
  EXPECT_EQ(card.run(kWrite, 3), ERT_CMD_STATE_COMPLETED);
}

TEST(CommandFault, OfOneUnitLeavesTheOthersAlone) {
  TrialCard first(0, "trial:{trial_1}");
  TrialCard second(0, "trial:{trial_2}");
  CardFaults faults("launch 1 unit=trial_2 fail; launch 2 unit=trial:trial_1 fail");
  EXPECT_EQ(first.run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(second.run(kWrite, 1), ERT_CMD_STATE_ERROR);
  EXPECT_EQ(first.run(kWrite, 1), ERT_CMD_STATE_ERROR);
}

TEST(LinkFault, FailingSyncHasAnErrorAndCopiesNothing) {
  TrialCard card;
  card.out.map<uint32_t*>()[0] = 11;
  CardFaults faults("sync 1 fail; sync 2 direction=from_device fail error=ETIMEDOUT");
  EXPECT_EQ(error_of([&] { card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE); }), EIO);
  card.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  EXPECT_EQ(card.out.map<uint32_t*>()[0], 0u);
  EXPECT_EQ(error_of([&] { card.fetch(); }), ETIMEDOUT);
}

TEST(LinkFault, StalledSyncTakesItsTimeAndMayFail) {
  TrialCard card;
  CardFaults faults("sync 1 stall for=100ms; sync 2 stall for=1ms error=EIO");
  const auto begin = std::chrono::steady_clock::now();
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(100));
  EXPECT_EQ(error_of([&] { card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE); }), EIO);
}

TEST(LinkFault, SlowLinkCopiesTheSame) {
  TrialCard card;
  CardFaults faults("sync 1 slow factor=0.01");
  card.out.map<uint32_t*>()[100] = 42;
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  card.out.map<uint32_t*>()[100] = 0;
  EXPECT_EQ(card.fetch()[100], 42u);
  EXPECT_THAT(faults.injected(), ElementsAre("sync 1 card=0 slow factor=0.01"));
}

TEST(LinkFault, FlippedBitArrivesSilently) {
  TrialCard card;
  std::memset(card.out.map<void*>(), 0, 4096);
  CardFaults faults("sync 1 flip offset=5 bit=3");
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  const auto* bytes = reinterpret_cast<const uint8_t*>(card.fetch());
  for (int i = 0; i < 4096; ++i) EXPECT_EQ(bytes[i], i == 5 ? 8 : 0) << i;
}

TEST(LinkFault, WithEccABitIsCorrectedOrTheSyncFails) {
  TrialCard card;
  std::memset(card.out.map<void*>(), 0, 4096);
  CardFaults faults("sync 1 flip ecc=corrected; sync 2 flip ecc=uncorrected");
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  EXPECT_EQ(error_of([&] { card.fetch(); }), EIO);
  const auto* bytes = reinterpret_cast<const uint8_t*>(card.fetch());
  EXPECT_EQ(std::accumulate(bytes, bytes + 4096, 0), 0);
}

TEST(MemoryFault, AFlippedBitIsInABufferAndTheSameInEachRun) {
  constexpr size_t kBytes = 1 << 20;
  std::vector<std::string> first;
  for (int turn = 0; turn < 2; ++turn) {
    TrialCard card(0, "trial:{trial_1}");
    xrt::bo held(card.device, kBytes, card.kernel.group_id(2));
    auto* const bytes = held.map<uint8_t*>();
    std::fill(bytes, bytes + kBytes, 0);
    held.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    CardFaults faults("seed 9; launch 1 flip");
    EXPECT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
    held.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    EXPECT_EQ(std::count(bytes, bytes + kBytes, 0), kBytes - 1);
    if (first.empty()) first = faults.injected();
    EXPECT_EQ(faults.injected(), first);
  }
  EXPECT_THAT(first, ElementsAre(HasSubstr("launch 1 card=0 flip address=")));
}

TEST(MemoryFault, UncorrectedErrorFailsCommandAndSyncsUntilItIsWrittenAgain) {
  TrialCard card;
  CardFaults faults("launch 1 flip ecc=uncorrected address=" +
                    std::to_string(card.out.address() + 64));
  EXPECT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_ERROR);
  EXPECT_EQ(error_of([&] { card.fetch(); }), EIO);
  EXPECT_EQ(error_of([&] { card.fetch(); }), EIO);
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  EXPECT_EQ(card.run(kWrite, 2), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(card.fetch()[0], 2u);
}

TEST(MemoryFault, FailedAllocationIsOneAllocation) {
  TrialCard card;
  CardFaults faults("allocate 2 fail");
  const auto make = [&] { xrt::bo buffer(card.device, 4096, card.kernel.group_id(2)); };
  EXPECT_EQ(error_of(make), 0);
  EXPECT_EQ(error_of(make), ENOMEM);
  EXPECT_EQ(error_of(make), 0);
}

TEST(MemoryFault, ShortMemoryHoldsNoMoreThanItsBytes) {
  TrialCard card;
  CardFaults faults("allocate 1 short bytes=1M");
  const auto make = [&](size_t bytes) {
    return xrt::bo(card.device, bytes, card.kernel.group_id(2));
  };
  EXPECT_EQ(error_of([&] { make(1 << 20); }), ENOMEM) << "4096 bytes are in use";
  {
    xrt::bo half = make(1 << 19);
    EXPECT_EQ(error_of([&] { make(1 << 19); }), ENOMEM);
  }
  EXPECT_EQ(error_of([&] { make(1 << 19); }), 0);
}

TEST(LoadFault, FailsWithItsErrorAndTheNextOneWorks) {
  CardFaults faults("load 1 fail; load 2 fail error=ETIMEDOUT");
  xrt::device device(0u);
  EXPECT_EQ(error_of([&] { device.load_xclbin(trial_xclbin()); }), EIO);
  EXPECT_EQ(error_of([&] { device.load_xclbin(trial_xclbin()); }), ETIMEDOUT);
  EXPECT_EQ(error_of([&] { device.load_xclbin(trial_xclbin()); }), 0);
}

TEST(OpenFault, IsADeviceThatDoesNotOpen) {
  CardFaults faults("open 1 card=1 fail");
  EXPECT_THROW(xrt::device(1u), std::exception);
  EXPECT_NO_THROW(xrt::device(0u));
  EXPECT_NO_THROW(xrt::device(1u));
}

// Runs 300 launches and syncs; the states and errors that come.
std::vector<int> outcomes() {
  TrialCard card;
  std::vector<int> all;
  for (uint32_t i = 0; i < 300; ++i) {
    all.push_back(error_of([&] { all.push_back(card.run(kWrite, i)); }));
    all.push_back(error_of([&] { card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE); }));
  }
  return all;
}

TEST(FaultReplay, SameSeedSameFaultsAndTheLogRepeatsThem) {
  const std::string random =
      "launch p=0.1 fail; launch p=0.05 fail error=EBUSY; sync p=0.1 fail; launch p=0.1 late "
      "by=1ms";
  std::vector<std::string> log;
  std::vector<int> first;
  {
    CardFaults faults("seed 3\n" + random);
    first = outcomes();
    log = faults.injected();
  }
  EXPECT_GT(log.size(), 50u);
  {
    CardFaults faults("seed 3\n" + random);
    EXPECT_EQ(outcomes(), first);
    EXPECT_EQ(faults.injected(), log);
  }
  {
    CardFaults faults("seed 4\n" + random);
    EXPECT_NE(outcomes(), first);
  }
  std::string script;
  for (const std::string& line : log) script += line + "\n";
  CardFaults faults(script);
  EXPECT_EQ(outcomes(), first);
  EXPECT_EQ(faults.injected(), log);
}

// Whether the second of two launches fails.
bool second_launch_fails() {
  TrialCard card;
  const bool first = card.run(kWrite, 1) == ERT_CMD_STATE_COMPLETED;
  return first && card.run(kWrite, 1) == ERT_CMD_STATE_ERROR;
}

TEST(FaultReplay, TheLogFileIsAScript) {
  const std::string log = testing::TempDir() + "tandem-faults-" + std::to_string(getpid());
  const std::string logs[2] = {log + ".0", log + ".1"};
  const std::string scripts[2] = {"launch every=2 fail", "@" + logs[0]};
  for (int turn = 0; turn < 2; ++turn) {
    const WithVariable script("TANDEM_FAULTS", scripts[turn]);
    const WithVariable log_file("TANDEM_FAULTS_LOG", logs[turn]);
    EXPECT_TRUE(ForkedProcess([](Line&) { return second_launch_fails(); }).ended_well());
    std::ifstream in(logs[turn]);
    std::string line;
    ASSERT_TRUE(std::getline(in, line));
    EXPECT_EQ(line, "launch 2 card=0 fail");
    EXPECT_FALSE(std::getline(in, line));
  }
  for (const std::string& path : logs) unlink(path.c_str());
}

TEST(FaultReplay, AForkedChildCountsItsOwnEvents) {
  if (kThreadSanitizer) GTEST_SKIP() << "threads of forked children are taken for the parent's";
  const WithVariable script("TANDEM_FAULTS", "launch 2 fail");
  { EXPECT_EQ(TrialCard().run(kWrite, 1), ERT_CMD_STATE_COMPLETED); }
  EXPECT_TRUE(ForkedProcess([](Line&) { return second_launch_fails(); }).ended_well());
}

}  // namespace
}  // namespace tandem::emulation_test
