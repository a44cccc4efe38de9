// SPDX-License-Identifier: Apache-2.0
//
// The card's end of a command ring: aborts that race with the next start, clients that write what
// they have handed over.
#include "emulation/card/units/command_queue.h"

#include <ert.h>
#include <gtest/gtest.h>

#include <memory>

#include "emulation/protocol/packet_state.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kPacket = 4096;
constexpr uint32_t kPacketBytes = 64;

class CommandQueueTest : public testing::Test {
 protected:
  CommandQueueTest() { slot_ = clients_.insert(area_).value(); }

  void submit() {
    set_packet_state(packet(), ERT_CMD_STATE_NEW);
    ASSERT_TRUE(push_command(area_->state().rings[0], *channel_, slot_, kPacket, kPacketBytes));
  }
  Command take() { return queue_.next(stopping_).value(); }
  uint32_t* packet() const { return area_->packet_header(kPacket); }
  uint32_t state() const { return *packet() & 0xF; }
  // As an application does to one that runs.
  void abort(const Command& command) {
    EntryState expected = EntryState::kRunning;
    ASSERT_TRUE(command.entry->state.compare_exchange_strong(expected, EntryState::kCancelled));
    set_packet_state(packet(), ERT_CMD_STATE_ABORT);
  }

  std::shared_ptr<ClientArea> area_ = std::make_shared<ClientArea>(ClientArea::create());
  std::unique_ptr<UnitChannel> channel_ = std::make_unique<UnitChannel>();
  ClientTable clients_;
  uint32_t slot_ = 0;
  CommandQueue queue_{*channel_, 0, clients_};
  std::atomic<bool> stopping_{false};
};

TEST_F(CommandQueueTest, AnAbortedCommandDoesNotBeginAlthoughItsPacketWasStartedAgain) {
  submit();
  const Command first = take();
  abort(first);
  submit();
  EXPECT_FALSE(queue_.begin(first));
  queue_.finish(first, ERT_CMD_STATE_ERROR);
  const Command second = take();
  EXPECT_TRUE(queue_.begin(second));
  EXPECT_EQ(state(), static_cast<uint32_t>(ERT_CMD_STATE_RUNNING));
  queue_.finish(second, ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(state(), static_cast<uint32_t>(ERT_CMD_STATE_COMPLETED));
}

TEST_F(CommandQueueTest, AnAbortedCommandDoesNotBegin) {
  submit();
  const Command command = take();
  abort(command);
  EXPECT_FALSE(queue_.begin(command));
  EXPECT_EQ(state(), static_cast<uint32_t>(ERT_CMD_STATE_ABORT));
}

TEST_F(CommandQueueTest, WhatAClientWritesIntoItsRingLaterMovesNoPacket) {
  submit();
  const Command command = take();
  command.entry->packet_offset = ~uint64_t{3};
  command.entry->packet_bytes = ~uint32_t{0};
  EXPECT_TRUE(command.has_packet());
  EXPECT_TRUE(queue_.begin(command));
  queue_.finish(command, ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(state(), static_cast<uint32_t>(ERT_CMD_STATE_COMPLETED));
}

TEST_F(CommandQueueTest, APacketOutsideTheClientsPacketsIsNone) {
  for (const uint64_t offset :
       {uint64_t{2}, kPacketAreaBytes, kPacketAreaBytes - kPacketBytes + 4, ~uint64_t{3}}) {
    ASSERT_TRUE(push_command(area_->state().rings[0], *channel_, slot_, offset, kPacketBytes));
    const Command command = take();
    EXPECT_FALSE(command.has_packet());
    queue_.finish(command, ERT_CMD_STATE_ERROR);
  }
}

}  // namespace
}  // namespace tandem::emulation
