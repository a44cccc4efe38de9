// SPDX-License-Identifier: Apache-2.0
//
// A lock of a dead holder is taken by exchanging the holder's id for one's own, so only one process
// takes it.
#include "emulation/protocol/mailbox.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "emulation/protocol/pidfd.h"

namespace tandem::emulation {
namespace {

constexpr int kShortWaits = 1000;  // before the first check of the holder
constexpr std::chrono::milliseconds kPause{1};

// Also true for a zombie.
bool has_ended(int32_t process) {
  const int descriptor = pidfd_open(process, 0);
  if (descriptor < 0) return errno == ESRCH;
  pollfd event{descriptor, POLLIN, 0};
  const bool ended = poll(&event, 1, 0) > 0;
  close(descriptor);
  return ended;
}

}  // namespace

MailboxLock::MailboxLock(Mailbox& mailbox) : mailbox_(mailbox) {
  const int32_t own = getpid();
  for (int attempt = 0;; ++attempt) {
    int32_t holder = 0;
    if (mailbox.holder.compare_exchange_strong(holder, own, std::memory_order_acquire)) return;
    if (attempt < kShortWaits) {
      std::this_thread::yield();
      continue;
    }
    if (has_ended(holder) && mailbox.holder.compare_exchange_strong(holder, own)) return;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace tandem::emulation
