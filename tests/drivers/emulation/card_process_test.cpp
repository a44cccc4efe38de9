// SPDX-License-Identifier: Apache-2.0
//
// A card's process that does not answer is ended, and its owner hears of it.
#include "emulation/xrt_shim/card_process.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>

#include "support/card_processes.h"

namespace tandem::emulation {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

TEST(CardProcess, ThatIsStoppedIsEndedWhenItsTimeIsUp) {
  std::promise<void> died;
  CardProcess process(TANDEM_CARD_PROGRAM, [&] { died.set_value(); });
  const auto found = test::card_processes();
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(kill(found[0], SIGSTOP), 0);
  siginfo_t stopped{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(found[0]), &stopped, WSTOPPED), 0);
  EXPECT_THAT(process.call("start 4096", {}, 50ms), HasSubstr("no answer"));
  died.get_future().wait();
  EXPECT_THAT(process.call("start 4096", {}, 50ms), HasSubstr("has ended"));
}

TEST(CardProcess, ThatEndsByItselfIsNotTakenForASlowOne) {
  std::promise<void> died;
  CardProcess process(TANDEM_CARD_PROGRAM, [&] { died.set_value(); });
  EXPECT_THAT(process.call("nonsense", {}, 20s), HasSubstr("has ended"));
  died.get_future().wait();
}

}  // namespace
}  // namespace tandem::emulation
