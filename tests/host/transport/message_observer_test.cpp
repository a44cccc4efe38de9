// SPDX-License-Identifier: Apache-2.0
//
// What an observer of messages sees: every message once, with its operation and phase, from every
// transport.
#include "transport/message_observer.h"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collectives/frames/group_transport.h"
#include "transport/inproc/inproc.h"
#include "transport/part_transport.h"

namespace tandem::transport {
namespace {

class SeenMessages final : public MessageObserver {
 public:
  SeenMessages() { set_message_observer(this); }
  ~SeenMessages() override { set_message_observer(nullptr); }

  void sent(const SentMessage& message) noexcept override {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::string(message.transport) + " " + std::to_string(message.source) + " " +
                     std::to_string(message.destination) + " " + std::to_string(message.bytes) +
                     " " + message.operation + " " + message.phase);
  }
  std::vector<std::string> lines() const { return lines_; }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

Payload payload_of(std::size_t bytes) { return Payload(ByteBuffer(bytes, std::byte{1})); }

TEST(MessageObserver, SeesAMessageWithItsOperationAndPhase) {
  const auto world = inproc::make_world(2);
  const SeenMessages seen;
  const Deadline deadline = Deadline::after(std::chrono::seconds(10));
  world[0]->send(1, 1, payload_of(5), deadline);
  {
    const MessageOperation call("call");
    const MessagePhase outer("outer");
    const MessagePhase inner("inner");
    world[0]->send(1, 2, payload_of(0), deadline);
  }
  world[1]->send(0, 3, payload_of(7), deadline);
  EXPECT_EQ(seen.lines(),
            (std::vector<std::string>{"inproc 0 1 5 message message", "inproc 0 1 0 call inner",
                                      "inproc 1 0 7 message message"}));
}

TEST(MessageObserver, SeesAMessageOfATransportOverAnotherOnce) {
  auto world = inproc::make_world(2);
  collectives::GroupTransport group(std::move(world[0]));
  const SeenMessages seen;
  group.send(1, 1, payload_of(5), Deadline::after(std::chrono::seconds(10)));
  EXPECT_EQ(seen.lines(), std::vector<std::string>{"inproc 0 1 5 message message"});
}

// A group of replicas' peers is a part of the world.
TEST(MessageObserver, SeesTheRanksOfTheWholeWorldInAPartOfIt) {
  const auto world = inproc::make_world(6);
  const auto inner = std::make_unique<PartTransport>(*world[4], std::vector<int>{1, 2, 4, 5});
  collectives::GroupTransport group(
      std::make_unique<PartTransport>(*inner, std::vector<int>{1, 2, 3}));
  const SeenMessages seen;
  group.send(2, 1, payload_of(5), Deadline::after(std::chrono::seconds(10)));
  group.send(0, 1, payload_of(6), Deadline::after(std::chrono::seconds(10)));
  EXPECT_EQ(seen.lines(), (std::vector<std::string>{"inproc 4 5 5 message message",
                                                    "inproc 4 2 6 message message"}));
}

TEST(MessageObserver, SeesNothingOnceItIsTakenAway) {
  const auto world = inproc::make_world(2);
  const SeenMessages seen;
  set_message_observer(nullptr);
  world[0]->send(1, 1, payload_of(5), Deadline::after(std::chrono::seconds(10)));
  EXPECT_TRUE(seen.lines().empty());
}

}  // namespace
}  // namespace tandem::transport
