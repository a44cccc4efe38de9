// SPDX-License-Identifier: Apache-2.0
//
// A card's process that does not answer blocks no call; the end of one is noticed.
#include "emulation/xrt_shim/process/card_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>

#include "emulation/protocol/shared_state.h"
#include "emulation/xrt_shim/process/orphan_process.h"
#include "forked_process.h"
#include "support/card_processes.h"

namespace tandem::emulation {
namespace {

using emulation_test::eventually;
using emulation_test::ForkedProcess;
using emulation_test::Line;
using testing::HasSubstr;
using namespace std::chrono_literals;

const std::string kOpening = "open " + std::to_string(kProtocolVersion) + " u55c 4194304";

CardConnection start() { return start_private_card(TANDEM_CARD_PROGRAM, kOpening); }

TEST(CardProcess, ThatIsStoppedGivesNoAnswerInTimeAndIsUsedAgainOnceItGoesOn) {
  CardProcess process(start, [] {});
  const auto found = test::card_processes();
  ASSERT_EQ(found.size(), 1u);
  const std::string all = "allocate 4194304 0 4194304";
  ASSERT_TRUE(process.call("allocate 8192 0 4194304", {}, 20s).ok());
  test::stop(found[0]);
  EXPECT_TRUE(process.post("release 0"));
  const CardAnswer none = process.call(all, {}, 50ms);
  EXPECT_TRUE(none.is_missing);
  EXPECT_THAT(none.problem, HasSubstr("no answer"));
  ASSERT_EQ(kill(found[0], SIGCONT), 0);
  // The late answer is dropped, and what it granted was taken back.
  EXPECT_THAT(process.call("release 12288", {}, 20s).problem, HasSubstr("no such buffer"));
  EXPECT_TRUE(process.call(all, {}, 20s).ok());
  EXPECT_EQ(process.call(all, {}, 20s).text, "full 0");
}

TEST(CardProcess, ThatIsStoppedGetsAllThatWasPostedMeanwhile) {
  constexpr int kPieces = 1000;  // more than a socket holds
  CardProcess process(start, [] {});
  for (int piece = 0; piece < kPieces; ++piece) {
    ASSERT_TRUE(process.call("allocate 4096 0 4194304", {}, 20s).ok());
  }
  const pid_t card = test::card_processes().at(0);
  test::stop(card);
  for (int piece = 0; piece < kPieces; ++piece) {
    ASSERT_TRUE(process.post("release " + std::to_string(4096 * piece)));
  }
  EXPECT_TRUE(process.call("allocate 1 0 4096", {}, 20ms).is_missing);
  ASSERT_EQ(kill(card, SIGCONT), 0);
  EXPECT_TRUE(process.call("allocate 4194304 0 4194304", {}, 20s).ok());
}

TEST(CardProcess, ThatIsStoppedDoesNotHoldWhoLeaves) {
  {
    CardProcess process(start, [] {});
    test::stop(test::card_processes().at(0));
    EXPECT_TRUE(process.leave().is_missing);
  }
  EXPECT_TRUE(test::card_processes().empty());
}

TEST(CardProcess, ThatEndsByItselfIsNotTakenForASlowOne) {
  std::promise<void> died;
  CardProcess process(start, [&] { died.set_value(); });
  kill(test::card_processes().at(0), SIGKILL);
  EXPECT_THAT(process.call("allocate 1 0 4096", {}, 20s).problem, HasSubstr("has ended"));
  died.get_future().wait();
}

volatile sig_atomic_t children_ended = 0;

TEST(CardProcess, IsNobodysChild) {
  if (is_parent_of_orphans()) GTEST_SKIP() << "orphans become children of this process";
  signal(SIGCHLD, [](int) { children_ended = children_ended + 1; });
  {
    CardProcess process(start, [] {});
    ASSERT_EQ(test::card_processes().size(), 1u);
    EXPECT_EQ(wait(nullptr), -1);  // waits for children, and there are none
    EXPECT_EQ(errno, ECHILD);
  }
  signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(children_ended, 0);
}

// One that runs watches the application's process too.
TEST(CardProcess, ThatIsStoppedEndsWithItsApplicationAlsoWhileAForkedChildRuns) {
  ForkedProcess application([](Line& line) {
    CardProcess process(start, [] {});
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    line.say(std::to_string(child));
    for (;;) pause();
    return true;
  });
  const pid_t child = std::stoi(application.line().hear().text);
  const pid_t id = application.id();
  const auto cards = test::card_processes(id);
  EXPECT_EQ(cards.size(), 1u);
  for (pid_t card : cards) test::stop(card);
  application.kill();
  EXPECT_TRUE(eventually([&] { return test::card_processes(id).empty(); }));
  EXPECT_EQ(kill(child, SIGKILL), 0) << "it has lived until now";
}

TEST(CardProcess, OfAForkedChildIsNotHarmedByTheOneItInherited) {
  if (emulation_test::kThreadSanitizer)
    GTEST_SKIP() << "threads of forked children are taken for the parent's";
  auto inherited = std::make_unique<CardProcess>(start, [] {});
  ForkedProcess child([&](Line&) {
    CardProcess process(start, [] {});  // its descriptors have the same numbers
    inherited.reset();
    return process.call("allocate 1 0 4096", {}, 20s).ok();
  });
  EXPECT_TRUE(child.ended_well());
  EXPECT_TRUE(inherited->call("allocate 1 0 4096", {}, 20s).ok());
}

TEST(CardProcess, ThatIsSharedIsReapedByAParentOfOrphans) {
  const std::string name = "card_process_test/" + std::to_string(getpid());
  ForkedProcess application([&](Line&) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    {
      CardProcess process([&] { return join_shared_card(TANDEM_CARD_PROGRAM, name, kOpening); },
                          [] {});
      process.leave();
    }
    siginfo_t ended{};
    return eventually([&] {
      return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
    });
  });
  EXPECT_TRUE(application.ended_well());
}

TEST(CardProcess, StartsWhateverDescriptorsAreFree) {
  ForkedProcess application([](Line&) {
    close_range(3, 7, 0);
    bool good = true;
    for (int taken = 0; taken < 5; ++taken) {
      CardProcess process(start, [] {});
      good = process.call("allocate 1 0 4096", {}, 20s).ok() && good;
      open("/dev/null",
           O_RDONLY | O_CLOEXEC);  // so that the next process' descriptors have other numbers
    }
    return good;
  });
  EXPECT_TRUE(application.ended_well());
}

TEST(CardProcess, ThatCannotBeStartedLeavesNothingOpen) {
  const int next = dup(STDERR_FILENO);
  close(next);
  EXPECT_THROW(start_private_card("/no/such/program", kOpening), std::runtime_error);
  EXPECT_THROW(start_private_card("/bin/true", kOpening), std::runtime_error);
  EXPECT_EQ(dup(STDERR_FILENO), next);
  close(next);
}

TEST(CardProcess, ThatWasLeftIsNotMourned) {
  bool mourned = false;
  {
    CardProcess process(start, [&] { mourned = true; });
    EXPECT_TRUE(process.leave().ok());
    EXPECT_THAT(process.call("leave", {}, 20s).problem, HasSubstr("has ended"));
  }
  EXPECT_FALSE(mourned);
  EXPECT_TRUE(test::card_processes().empty());
}

TEST(CardProcess, RefusesWhatItDoesNotUnderstand) {
  CardProcess process(start, [] {});
  for (const char* request :
       {"nonsense", "allocate", "allocate x y z", "open 1 2", "release 5", "export 4096", "import",
        "map_peer 0 4096", "context a b c", "end_context 1", "load 00"}) {
    EXPECT_NE(process.call(request, {}, 20s).problem, "") << request;
  }
  EXPECT_TRUE(process.call("allocate 1 0 8192", {}, 20s).ok());
}

TEST(CardProcess, SaysThatARequestIsTooLong) {
  CardProcess process(start, [] {});
  EXPECT_THAT(process.call("load 0\n" + std::string(70000, 'x'), {}, 20s).problem,
              HasSubstr("70007 bytes"));
  EXPECT_TRUE(process.call("allocate 1 0 8192", {}, 20s).ok());
}

TEST(CardProcess, StallsOfPortsWithoutANumberAreRefusedInASentence) {
  for (const char* text : {"often", "3x", "-1", "99999999999999999999"}) {
    setenv("TANDEM_RTL_STALLS", text, 1);
    testing::internal::CaptureStderr();
    EXPECT_THROW(start_private_card(TANDEM_CARD_PROGRAM, kOpening), std::exception) << text;
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr("TANDEM_RTL_STALLS is '" + std::string(text) + "', not a whole number"));
  }
  setenv("TANDEM_RTL_STALLS", "7", 1);
  EXPECT_NO_THROW(start_private_card(TANDEM_CARD_PROGRAM, kOpening));
  unsetenv("TANDEM_RTL_STALLS");
}

TEST(CardProcess, OfAnotherVersionOrOfAbsurdSizeIsNotOpened) {
  const auto before = test::card_processes();
  EXPECT_THROW(start_private_card(TANDEM_CARD_PROGRAM, "open 1 u55c 4194304"), std::exception);
  EXPECT_THROW(start_private_card(TANDEM_CARD_PROGRAM, "open " + std::to_string(kProtocolVersion) +
                                                           " u55c 18446744073709547520"),
               std::exception);
  EXPECT_TRUE(eventually([&] { return test::card_processes() == before; }));
}

}  // namespace
}  // namespace tandem::emulation
