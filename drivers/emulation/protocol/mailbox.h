// SPDX-License-Identifier: Apache-2.0
//
// The mailbox of a compute unit: arguments on their way to the kernel's next call, and what its
// last call put out.
//
// Words are counted from the start of the register map. The program's side is the register map
// itself; the shim copies between the two when a program releases inputs or takes outputs back, the
// unit's thread before and after each call. Threads and processes: any, under a lock that bears its
// holder's process id: one whose holder was killed is broken.
#pragma once

#include <atomic>
#include <cstdint>

namespace tandem::emulation {

constexpr uint32_t kMailboxWords = 64;

struct Mailbox {
  std::atomic<int32_t> holder{0};  // process id
  uint32_t has_inputs = 0;         // released, and not yet taken by a call
  uint64_t output_words = 0;       // bit w: some call changed word w
  uint32_t inputs[kMailboxWords] = {};
  uint32_t outputs[kMailboxWords] = {};
};

class MailboxLock {
 public:
  explicit MailboxLock(Mailbox& mailbox);
  ~MailboxLock() { mailbox_.holder.store(0, std::memory_order_release); }
  MailboxLock(const MailboxLock&) = delete;
  MailboxLock& operator=(const MailboxLock&) = delete;

 private:
  Mailbox& mailbox_;
};

}  // namespace tandem::emulation
