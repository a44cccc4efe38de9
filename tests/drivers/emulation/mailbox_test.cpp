// SPDX-License-Identifier: Apache-2.0
//
// The lock of a unit's mailbox: exclusive, and broken only when its holder has died.
#include "emulation/protocol/mailbox.h"

#include <sys/mman.h>

#include <chrono>
#include <new>
#include <thread>

#include "forked_process.h"

namespace tandem::emulation {
namespace {

using emulation_test::ForkedProcess;
using emulation_test::Line;

// Memory that forked children share.
Mailbox& shared_mailbox() {
  void* memory =
      mmap(nullptr, sizeof(Mailbox), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (memory) Mailbox;
}

TEST(MailboxLock, ExcludesTheOthersHoweverLongItIsHeld) {
  Mailbox mailbox;
  bool released = false;
  auto* lock = new MailboxLock(mailbox);
  std::thread other([&] {
    MailboxLock mine(mailbox);
    EXPECT_TRUE(released);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  released = true;
  delete lock;
  other.join();
}

TEST(MailboxLock, OfAKilledProcessIsBroken) {
  Mailbox& mailbox = shared_mailbox();
  ForkedProcess holder([&](Line& line) {
    MailboxLock lock(mailbox);
    line.say("locked");
    pause();
    return true;
  });
  holder.line().hear();
  ASSERT_EQ(::kill(holder.id(), SIGKILL), 0);  // not waited for: it stays in the process table
  { MailboxLock lock(mailbox); }
  MailboxLock again(mailbox);
}

}  // namespace
}  // namespace tandem::emulation
