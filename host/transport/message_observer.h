// SPDX-License-Identifier: Apache-2.0
//
// MessageObserver: sees every message that the transports of this process send.
//
// A message is seen once its step has started. A transport over another one (GroupTransport) is the
// same message and is seen once. Without an observer a step costs one load. Ownership: the observer
// outlives every transport. Threads: sent() from any that drives a transport.
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem::transport {

struct SentMessage {
  std::string_view transport;  // Transport::kind()
  int source = 0, destination = 0;
  std::uint64_t bytes = 0;
  const char* operation = "";  // that of the innermost MessageOperation: the call
  const char* phase = "";      // that of the innermost MessagePhase: its part
};

class MessageObserver {
 public:
  virtual ~MessageObserver() = default;
  virtual void sent(const SentMessage& message) noexcept = 0;
};

// Null: none from now on.
void set_message_observer(MessageObserver* observer);

// Name what this thread sends while they exist: string literals, whose addresses may be kept.
class MessageOperation {
 public:
  explicit MessageOperation(const char* operation);
  ~MessageOperation();
  MessageOperation(const MessageOperation&) = delete;
  MessageOperation& operator=(const MessageOperation&) = delete;

 private:
  const char* before_;
};

class MessagePhase {
 public:
  explicit MessagePhase(const char* phase);
  ~MessagePhase();
  MessagePhase(const MessagePhase&) = delete;
  MessagePhase& operator=(const MessagePhase&) = delete;

 private:
  const char* before_;
};

}  // namespace tandem::transport
