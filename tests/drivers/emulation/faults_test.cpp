// SPDX-License-Identifier: Apache-2.0
//
// What an application sees through XRT of the faults of whole cards. Others: part_faults_test.cpp.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <thread>

#include "emulated_cards.h"
#include "emulation/faults/tandem_card_faults.h"
#include "fault_cases.h"
#include "forked_process.h"

namespace tandem::emulation_test {
namespace {

using testing::ElementsAre;

TEST(CardFault, ScriptWithAMistakeNamesLineAndField) {
  try {
    CardFaults faults("launch 1 die\nlaunch 2 late by=soon");
    FAIL() << "it was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "script:2: field 'by': 'soon' is not a number");
  }
}

// In a process of its own, since a process reads the variable once.
TEST(CardFault, InTheVariableRefusesTheCard) {
  ForkedProcess process([](Line&) {
    setenv("TANDEM_FAULTS", "launch 1 explode", 1);
    try {
      xrt::device card(0u);
      return false;
    } catch (const std::exception&) {
      return true;
    }
  });
  EXPECT_TRUE(process.ended_well());
}

TEST(CardFault, DyingCardFailsItsCommandsAndLeavesTheBus) {
  TrialCard card;
  CardFaults faults("launch 3 die");
  EXPECT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(card.run(kWrite, 2), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(card.run(kWrite, 3), ERT_CMD_STATE_ERROR);
  EXPECT_EQ(card.run(kWrite, 4), ERT_CMD_STATE_ERROR);
  EXPECT_EQ(error_of([&] { card.fetch(); }), EIO);
  EXPECT_THAT(faults.injected(), ElementsAre("launch 3 card=0 die"));
}

TEST(CardFault, DeadCardOpensOnlyOnceItIsBack) {
  {
    CardFaults faults("launch 1 die");
    { EXPECT_EQ(TrialCard().run(kWrite, 1), ERT_CMD_STATE_ERROR); }
    EXPECT_THROW(TrialCard(), std::exception);
  }
  CardFaults faults("launch 1 die for=100ms");
  { EXPECT_EQ(TrialCard().run(kWrite, 1), ERT_CMD_STATE_ERROR); }
  EXPECT_TRUE(eventually([] {
    try {
      return TrialCard().run(kWrite, 2) == ERT_CMD_STATE_COMPLETED;
    } catch (const std::exception&) {
      return false;
    }
  }));
}

TEST(CardFault, DiesUnderARunningCommand) {
  TrialCard card;
  CardFaults faults("launch 1 die delay=30ms");
  auto run = card.kernel(static_cast<uint32_t>(kSleep), 30'000'000u, card.out);
  EXPECT_EQ(run.wait(kFaultLong), ERT_CMD_STATE_ERROR);
}

TEST(CardFault, ResetAbortsCommandsAndRefusesLaterOnes) {
  TrialCard card;
  CardFaults faults("launch 1 reset delay=300ms for=1ms");
  auto run = card.kernel(static_cast<uint32_t>(kSleep), 30'000'000u, card.out);
  EXPECT_EQ(run.wait(kFaultLong), ERT_CMD_STATE_ABORT);
  EXPECT_EQ(error_of([&] { start_write(card, 1); }), EDEADLK);
}

// Also after runs of that card, whose ends XRT waits for.
TEST(CardFault, CardThatWasResetWorksOnceItIsOpenedAgain) {
  CardFaults faults("launch 2 reset for=1ms");
  {
    TrialCard card;
    EXPECT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
    EXPECT_EQ(error_of([&] { card.run(kWrite, 1); }), EDEADLK);
  }
  EXPECT_TRUE(eventually([] {
    try {
      return TrialCard().run(kWrite, 2) == ERT_CMD_STATE_COMPLETED;
    } catch (const std::exception&) {
      return false;
    }
  }));
}

TEST(CardFault, HangingCardEndsNoCommandUntilItGoesOn) {
  TrialCard card;
  TrialCard other(1);
  CardFaults faults("launch 2 card=0 hang");
  EXPECT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
  auto second = start_write(card, 2);
  auto third = start_write(card, 3);
  EXPECT_EQ(second.wait(kFaultShort), ERT_CMD_STATE_TIMEOUT);
  EXPECT_EQ(third.wait(kFaultShort), ERT_CMD_STATE_TIMEOUT);
  EXPECT_EQ(other.run(kWrite, 4), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(second.abort(), ERT_CMD_STATE_ABORT);
}

TEST(CardFault, HangThatEndsLosesNothing) {
  TrialCard card;
  CardFaults faults("launch 1 hang for=100ms");
  const auto begin = std::chrono::steady_clock::now();
  auto run = start_write(card, 7);
  EXPECT_EQ(run.wait(kFaultLong), ERT_CMD_STATE_COMPLETED);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(100));
  EXPECT_EQ(card.fetch()[0], 7u);
}

TEST(CardFault, HangLastsWhenTheDeviceIsOpenedAgain) {
  CardFaults faults("launch 1 hang");
  { start_write(*std::make_unique<TrialCard>(), 1).wait(kFaultShort); }
  TrialCard card;
  EXPECT_EQ(start_write(card, 2).wait(kFaultShort), ERT_CMD_STATE_TIMEOUT);
}

TEST(CardFault, TheEndOfTheScriptEndsAHang) {
  TrialCard card;
  auto faults = std::make_unique<CardFaults>("launch 1 hang");
  auto run = start_write(card, 1);
  EXPECT_EQ(run.wait(kFaultShort), ERT_CMD_STATE_TIMEOUT);
  faults.reset();
  EXPECT_EQ(run.wait(kFaultLong), ERT_CMD_STATE_COMPLETED);
}

TEST(CardFault, TimeComesWithoutAnEvent) {
  TrialCard card;
  CardFaults faults("after 50ms card=0 die");
  auto run = card.kernel(static_cast<uint32_t>(kSleep), 30'000'000u, card.out);
  EXPECT_EQ(run.wait(kFaultLong), ERT_CMD_STATE_ERROR);
  EXPECT_THAT(faults.injected(), ElementsAre("after 50ms card=0 die"));
}

// The fault of all cards is still at the first one when the script ends.
TEST(CardFault, TheEndOfTheScriptWaitsForAFaultThatHappens) {
  TrialCard card;
  {
    CardFaults faults("after 50ms die");
    auto run = card.kernel(static_cast<uint32_t>(kSleep), 30'000'000u, card.out);
    EXPECT_EQ(run.wait(kFaultLong), ERT_CMD_STATE_ERROR);
  }
  CardFaults next("launch 1000 die");
  for (int look = 0; look < 20; ++look) {
    EXPECT_NO_THROW(xrt::device(1u));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace
}  // namespace tandem::emulation_test
