// SPDX-License-Identifier: Apache-2.0
//
// Mailbox: arguments for the next call of a compute unit's kernel, and outputs of its last call.
//
// Words are counted from the start of the register map. The program sees the register map. The shim
// copies from it to the mailbox when a program releases inputs, and back when it takes outputs. The
// unit's thread copies before and after each call. Threads and processes: any, under a lock that
// holds its owner's process id. The lock of a killed owner is taken over.
#pragma once

#include <atomic>
#include <cstdint>

namespace tandem::emulation {

constexpr uint32_t kMailboxWords = 64;

struct Mailbox {
  std::atomic<int32_t> holder{0};  // process id
  uint32_t has_inputs = 0;    // the program has released inputs, and no call has taken them yet
  uint64_t output_words = 0;  // bit w: a call changed word w
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
