// SPDX-License-Identifier: Apache-2.0
//
// MessageObserver: sees every message that the transports of this process send.
//
// The observer sees a message when its step has started. A transport over another one
// (GroupTransport) sends the same message, which is seen once. Ranks are those of the whole world,
// also where a part of it numbers its own. Without an observer a step costs one
// load. Ownership: the observer outlives every transport. Threads: any thread that uses a transport
// may call sent().
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem::transport {

struct SentMessage {
  std::string_view transport;  // Transport::kind()
  int source = 0, destination = 0;
  std::uint64_t bytes = 0;
  const char* operation = "";  // the call: the name of the innermost MessageOperation
  const char* phase = "";      // the part of the call: the name of the innermost MessagePhase
};

class MessageObserver {
 public:
  virtual ~MessageObserver() = default;
  virtual void sent(const SentMessage& message) noexcept = 0;
};

// Null removes the observer.
void set_message_observer(MessageObserver* observer);

// While an object exists, its name belongs to the messages that this thread sends. Names are string
// literals, because observers may keep their addresses.
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
