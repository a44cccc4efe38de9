// SPDX-License-Identifier: Apache-2.0
//
// A card's process that does not answer is ended, and its owner hears of it.
#include "emulation/xrt_shim/card_process.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>

#include "emulation/protocol/shared_state.h"
#include "support/card_processes.h"

namespace tandem::emulation {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

const std::string kOpening = "open " + std::to_string(kProtocolVersion) + " u55c 4194304";

CardConnection start() { return start_private_card(TANDEM_CARD_PROGRAM, kOpening); }

TEST(CardProcess, ThatIsStoppedIsEndedWhenItsTimeIsUp) {
  std::promise<void> died;
  CardProcess process(start, [&] { died.set_value(); });
  const auto found = test::card_processes();
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(kill(found[0], SIGSTOP), 0);
  siginfo_t stopped{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(found[0]), &stopped, WSTOPPED), 0);
  EXPECT_THAT(process.call("allocate 1 0 4096", {}, 50ms).problem, HasSubstr("no answer"));
  died.get_future().wait();
  EXPECT_THAT(process.call("allocate 1 0 4096", {}, 50ms).problem, HasSubstr("has ended"));
}

TEST(CardProcess, ThatEndsByItselfIsNotTakenForASlowOne) {
  std::promise<void> died;
  CardProcess process(start, [&] { died.set_value(); });
  kill(test::card_processes().at(0), SIGKILL);
  EXPECT_THAT(process.call("allocate 1 0 4096", {}, 20s).problem, HasSubstr("has ended"));
  died.get_future().wait();
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

TEST(CardProcess, OfAnotherVersionOrOfAbsurdSizeIsNotOpened) {
  EXPECT_THROW(start_private_card(TANDEM_CARD_PROGRAM, "open 1 u55c 4194304"), std::exception);
  EXPECT_THROW(start_private_card(TANDEM_CARD_PROGRAM, "open 2 u55c 18446744073709547520"),
               std::exception);
  EXPECT_TRUE(test::card_processes().empty());
}

}  // namespace
}  // namespace tandem::emulation
