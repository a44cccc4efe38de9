// SPDX-License-Identifier: Apache-2.0
//
// Cards that several processes share: which process starts them, what each may do, and what remains
// when one dies.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <memory>

#include "emulated_cards.h"
#include "forked_process.h"
#include "shim_functions.h"
#include "support/card_processes.h"

namespace tandem::emulation_test {
namespace {

using testing::HasSubstr;

bool launches_well(TrialCard& card, uint32_t value) {
  return card.run(kWrite, value) == ERT_CMD_STATE_COMPLETED && card.fetch()[0] == value;
}

// A process that opens card 0, reports it, and launches once more on request.
bool join_and_launch(Line& line) {
  TrialCard card;
  line.say("open");
  line.hear();
  return launches_well(card, static_cast<uint32_t>(getpid()));
}

TEST(SharedCard, HasOneProcessAndMemoryForAll) {
  const std::string scope = use_own_scope();
  ForkedProcess other([](Line& line) {
    TrialCard card;
    line.say(std::to_string(card.out.address()));
    line.hear();
    for (uint32_t i = 0; i < 200; ++i) {
      if (!launches_well(card, 1000 + i)) return false;
    }
    return true;
  });
  const std::string address = other.line().hear().text;
  TrialCard card;
  EXPECT_EQ(shared_card_processes(scope).size(), 1u);
  EXPECT_NE(std::to_string(card.out.address()), address);
  other.line().say("go");
  for (uint32_t i = 0; i < 200; ++i) ASSERT_TRUE(launches_well(card, i));
  EXPECT_TRUE(other.ended_well());
  EXPECT_TRUE(launches_well(card, 5));
}

TEST(SharedCard, EndsWithItsLastClient) {
  const std::string scope = use_own_scope();
  ForkedProcess first(join_and_launch);
  first.line().hear();
  ForkedProcess second(join_and_launch);
  second.line().hear();
  const auto processes = shared_card_processes(scope);
  ASSERT_EQ(processes.size(), 1u);
  first.line().say("go");
  EXPECT_TRUE(first.ended_well());
  EXPECT_EQ(shared_card_processes(scope), processes);
  second.line().say("go");
  EXPECT_TRUE(second.ended_well());
  EXPECT_TRUE(all_gone(scope));
}

TEST(SharedCard, GoesOnWhenItsStarterIsKilled) {
  const std::string scope = use_own_scope();
  auto starter = std::make_unique<ForkedProcess>(join_and_launch);
  starter->line().hear();
  ForkedProcess other(join_and_launch);
  other.line().hear();
  starter->kill();
  other.line().say("go");
  EXPECT_TRUE(other.ended_well());
  EXPECT_TRUE(all_gone(scope));
}

TEST(SharedCard, FreesWhatAClientThatWasKilledHeldOnceItsKernelEnded) {
  use_own_scope();
  ForkedProcess victim([](Line& line) {
    TrialCard card;
    std::vector<xrt::bo> buffers;
    for (int i = 0; i < 10; ++i)
      buffers.emplace_back(card.device, 1 << 20, card.kernel.group_id(2));
    std::vector<xrt::run> runs;
    for (int i = 0; i < 100; ++i) {
      runs.push_back(card.kernel(static_cast<uint32_t>(kSleep), 100'000u, card.out));
    }
    line.say("launched");
    pause();
    return true;
  });
  TrialCard card;
  victim.line().hear();
  const uint64_t before = free_bytes(card.device);
  victim.kill();
  for (uint32_t i = 0; i < 6; ++i) EXPECT_TRUE(launches_well(card, i)) << "on every unit";
  EXPECT_TRUE(eventually([&] { return free_bytes(card.device) >= before + (10 << 20); }));
}

TEST(SharedCard, ThatIsStoppedTakesMemoryRefusesMoreAndThenGoesOn) {
  const std::string scope = use_own_scope();
  TrialCard card;
  const uint64_t before = free_bytes(card.device);
  std::vector<xrt::bo> buffers;
  for (int i = 0; i < 500; ++i) buffers.emplace_back(card.device, 4096, card.kernel.group_id(2));
  const pid_t process = shared_card_process(scope);
  test::stop(process);
  buffers.clear();
  testing::internal::CaptureStderr();
  EXPECT_THROW(xrt::bo(card.device, 4096, card.kernel.group_id(2)), std::exception);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("gave no answer"));
  ASSERT_EQ(kill(process, SIGCONT), 0);
  EXPECT_TRUE(launches_well(card, 4));
  EXPECT_TRUE(eventually([&] { return free_bytes(card.device) == before; }));
  EXPECT_TRUE(launches_well(card, 5));
}

TEST(SharedCard, ThatIsStoppedDoesNotHoldAProcessThatEnds) {
  const std::string scope = use_own_scope();
  ForkedProcess other(join_and_launch);
  other.line().hear();
  ForkedProcess leaving([](Line& line) {
    TrialCard card;
    line.say("open");
    line.hear();
    return true;
  });
  leaving.line().hear();
  const pid_t process = shared_card_process(scope);
  test::stop(process);
  leaving.line().say("go");
  EXPECT_TRUE(leaving.ended_well());
  ASSERT_EQ(kill(process, SIGCONT), 0);
  other.line().say("go");
  EXPECT_TRUE(other.ended_well());
  EXPECT_TRUE(all_gone(scope));
}

// A process whose kernel waits for ever on unit trial_1, with memory of its own.
bool hang(Line& line) {
  TrialCard card(0, "trial:{trial_1}");
  xrt::bo held(card.device, 10 << 20, card.kernel.group_id(2));
  card.out.map<uint32_t*>()[2] = 0;
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto run = card.kernel(static_cast<uint32_t>(kWaitForFlag), 1u, card.out);
  while (run.state() != ERT_CMD_STATE_RUNNING) std::this_thread::yield();
  line.say("hangs");
  pause();
  return true;
}

TEST(SharedCard, EndsAKernelWithoutEndWhoseProcessDied) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer holds signals back from loops";
  use_own_scope();
  ForkedProcess victim(hang);
  victim.line().hear();
  TrialCard card(0, "trial:{trial_1}");
  TrialCard others(0, "trial:{trial_2,trial_3}");
  const uint64_t before = free_bytes(card.device);
  auto queued = card.kernel(static_cast<uint32_t>(kWrite), 6u, card.out);
  victim.kill();
  EXPECT_EQ(queued.wait(std::chrono::milliseconds(40000)), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(card.fetch()[0], 6u);
  EXPECT_EQ(card.fetch()[1], 1u) << "another unit, which counts its launches from the start";
  for (uint32_t i = 0; i < 6; ++i) EXPECT_TRUE(launches_well(card, i));
  EXPECT_EQ(card.fetch()[1], 7u);
  EXPECT_TRUE(launches_well(others, 9));
  EXPECT_TRUE(eventually([&] { return free_bytes(card.device) >= before + (10 << 20); }));
}

TEST(SharedCard, LoadsAnotherBitstreamOnceTheKernelWithoutEndOfADeadProcessIsOver) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer holds signals back from loops";
  use_own_scope();
  ForkedProcess victim(hang);
  victim.line().hear();
  xrt::device device(0);
  victim.kill();
  const auto load = [&] {
    try {
      device.load_xclbin(TANDEM_TEST_XCLBIN_DIR "/idle_vadd.xclbin");
      return true;
    } catch (const std::exception&) {
      return false;  // while the card has not noticed the death
    }
  };
  EXPECT_TRUE(eventually(load));
}

// Without address space no other unit can be made. The card must not go on without one.
TEST(SharedCard, EndsWhereNoUnitCanTakeThePlaceOfOneThatWasEnded) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need address space themselves";
#endif
  const std::string scope = use_own_scope();
  ForkedProcess victim([](Line& line) {
    line.hear();
    return hang(line);
  });
  testing::internal::CaptureStderr();  // the card's too
  TrialCard card(0, "trial:{trial_1}");
  victim.line().say("go");
  victim.line().hear();
  auto queued = card.kernel(static_cast<uint32_t>(kWrite), 6u, card.out);
  const rlimit little{1 << 20, 1 << 20};
  prlimit(shared_card_process(scope), RLIMIT_AS, &little, nullptr);
  victim.kill();
  EXPECT_EQ(queued.wait(std::chrono::milliseconds(40000)), ERT_CMD_STATE_ERROR);
  EXPECT_TRUE(all_gone(scope));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no unit can take the place"));
}

TEST(SharedCard, EndsAlsoWhileAKernelOfItsLastClientHangs) {
  const std::string scope = use_own_scope();
  ForkedProcess victim(hang);
  victim.line().hear();
  ASSERT_EQ(shared_card_processes(scope).size(), 1u);
  victim.kill();
  EXPECT_TRUE(all_gone(scope));
}

TEST(SharedCard, FailsForAllOfItsClientsWhenItIsKilled) {
  const std::string scope = use_own_scope();
  ForkedProcess other([](Line& line) {
    TrialCard card;
    auto run = card.kernel(static_cast<uint32_t>(kSleep), 30'000'000u, card.out);
    line.say("launched");
    return run.wait(std::chrono::milliseconds(40000)) == ERT_CMD_STATE_ERROR &&
           card.run(kWrite, 1) == ERT_CMD_STATE_ERROR;
  });
  {
    TrialCard card;
    other.line().hear();
    kill(shared_card_process(scope), SIGKILL);
    EXPECT_TRUE(other.ended_well());
    EXPECT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_ERROR);
  }
  TrialCard fresh;
  EXPECT_TRUE(launches_well(fresh, 8));
}

TEST(SharedCard, TellsAllOfItsClientsWhichKernelCrashed) {
  use_own_scope();
  ForkedProcess other([](Line& line) {
    TrialCard card;
    line.say("open");
    line.hear();
    card.run(kReadNull, 1);
    return true;
  });
  other.line().hear();
  TrialCard card;
  testing::internal::CaptureStderr();
  other.line().say("go");
  other.ended_well();
  EXPECT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_ERROR);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("kernel trial on unit trial_"), HasSubstr("null pointer")));
}

TEST(SharedCard, KeepsABitstreamThatAnotherProcessUses) {
  use_own_scope();
  ForkedProcess other(join_and_launch);
  other.line().hear();
  xrt::device device(0u);
  testing::internal::CaptureStderr();
  EXPECT_THROW(device.load_xclbin(std::string(TANDEM_TEST_XCLBIN_DIR "/idle_vadd.xclbin")),
               std::exception);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("in use on this card, by process " + std::to_string(other.id())));
  other.line().say("go");
  EXPECT_TRUE(other.ended_well());
  EXPECT_NO_THROW(device.load_xclbin(std::string(TANDEM_TEST_XCLBIN_DIR "/idle_vadd.xclbin")));
}

TEST(SharedCard, RefusesKernelsOfABitstreamThatAnotherProcessReplaced) {
  if (kThreadSanitizer) GTEST_SKIP() << "threads of forked children are taken for the parent's";
  use_own_scope();
  xrt::device device(0u);
  const auto uuid = device.load_xclbin(trial_xclbin());
  ForkedProcess other([](Line&) {
    xrt::device mine(0u);
    const auto id = mine.load_xclbin(std::string(TANDEM_TEST_XCLBIN_DIR "/idle_vadd.xclbin"));
    return xrt::kernel(mine, id, "vadd").group_id(0) >= 0;
  });
  ASSERT_TRUE(other.ended_well());
  EXPECT_THROW(xrt::kernel(device, uuid, "trial"), std::exception);
  TrialCard again;
  EXPECT_TRUE(launches_well(again, 3));
}

TEST(SharedCard, GivesAUnitToOneProcessThatWantsItForItself) {
  use_own_scope();
  ForkedProcess other([](Line& line) {
    xrt::device device(0u);
    const auto uuid = device.load_xclbin(trial_xclbin());
    xrt::kernel kernel(device, uuid, "trial:{trial_1}", xrt::kernel::cu_access_mode::exclusive);
    line.say("open");
    line.hear();
    return true;
  });
  other.line().hear();
  xrt::device device(0u);
  const auto uuid = device.load_xclbin(trial_xclbin());
  EXPECT_THROW(xrt::kernel(device, uuid, "trial:{trial_1}"), std::exception);
  EXPECT_NO_THROW(xrt::kernel(device, uuid, "trial:{trial_2}"));
  other.line().say("go");
  EXPECT_TRUE(other.ended_well());
  EXPECT_NO_THROW(xrt::kernel(device, uuid, "trial:{trial_1}"));
}

TEST(SharedCard, OfAnotherPlatformIsRefused) {
  use_own_scope();
  ForkedProcess other(join_and_launch);
  other.line().hear();
  setenv("TANDEM_CARD_PRESET", "u280", 1);
  testing::internal::CaptureStderr();
  EXPECT_THROW(xrt::device(0u), std::exception);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("emulates platform 'u55c'"));
}

TEST(SharedCard, NeedsAScopeThatIsAName) {
  setenv("TANDEM_CARD_SCOPE", "a/b c", 1);
  testing::internal::CaptureStderr();
  EXPECT_THROW(xrt::device(0u), std::exception);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("TANDEM_CARD_SCOPE is 'a/b c'"));
}

// Cards start and end often here: in every round a process comes while another one leaves.
TEST(SharedCard, IsThereForWhoeverComesWhileItEnds) {
  const std::string scope = use_own_scope();
  std::vector<std::unique_ptr<ForkedProcess>> processes;
  for (int process = 0; process < 6; ++process) {
    processes.push_back(std::make_unique<ForkedProcess>([](Line&) {
      for (int round = 0; round < 12; ++round) {
        TrialCard card;
        if (!launches_well(card, static_cast<uint32_t>(round))) return false;
      }
      return true;
    }));
  }
  for (auto& process : processes) EXPECT_TRUE(process->ended_well());
  EXPECT_TRUE(all_gone(scope));
}

TEST(SharedCard, LosesProcessesAtAnyMomentAndServesTheOthers) {
  const std::string scope = use_own_scope();
  {
    TrialCard card;
    const uint64_t before = free_bytes(card.device);
    for (int round = 0; round < 20; ++round) {
      ForkedProcess victim([](Line& line) {
        line.say("begun");
        for (uint32_t i = 0;; ++i) {
          TrialCard mine;
          for (int launch = 0; launch < 5; ++launch) mine.run(kWrite, i);
          xrt::bo imported(mine.device, mine.out.export_buffer());
        }
        return true;
      });
      victim.line().hear();
      std::this_thread::sleep_for(std::chrono::milliseconds(5 + 3 * round));
      victim.kill();
      ASSERT_TRUE(launches_well(card, static_cast<uint32_t>(round)));
    }
    EXPECT_TRUE(eventually([&] { return free_bytes(card.device) == before; }));
  }
  EXPECT_TRUE(all_gone(scope));
}

TEST(ForkedChild, CannotLaunchOnItsParentsCard) {
  TrialCard card;
  ASSERT_TRUE(launches_well(card, 1));
  ForkedProcess child([&](Line&) {
    try {
      card.run(kWrite, 2);
    } catch (const std::exception&) {
      return true;
    }
    return false;
  });
  EXPECT_TRUE(child.ended_well());
  EXPECT_EQ(card.fetch()[0], 1u);
  EXPECT_TRUE(launches_well(card, 3));
}

}  // namespace
}  // namespace tandem::emulation_test
