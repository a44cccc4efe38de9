// SPDX-License-Identifier: Apache-2.0
//
// The card's end of the command rings: the clients' turns, counts of finished commands, aborts that
// race with the next start, clients that write to their rings later.
#include "emulation/card/units/command_queue.h"

#include <ert.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

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
    ASSERT_TRUE(push_command(area_->state().rings[0], *channel_, slot_, {kPacket, kPacketBytes}));
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
    ASSERT_TRUE(push_command(area_->state().rings[0], *channel_, slot_, {offset, kPacketBytes}));
    const Command command = take();
    EXPECT_FALSE(command.has_packet());
    queue_.finish(command, ERT_CMD_STATE_ERROR);
  }
}

// Another client, in the next free slot.
struct Neighbour {
  Neighbour(ClientTable& clients, UnitChannel& channel)
      : slot(clients.insert(area).value()), channel(channel) {}
  bool submit() { return push_command(area->state().rings[0], channel, slot, {kPacket, 64}); }

  std::shared_ptr<ClientArea> area = std::make_shared<ClientArea>(ClientArea::create());
  uint32_t slot;
  UnitChannel& channel;
};

TEST_F(CommandQueueTest, TwoClientsWithFullRingsTakeTurns) {
  Neighbour other(clients_, *channel_);
  for (uint32_t entry = 0; entry < kRingEntries; ++entry) {
    submit();
    ASSERT_TRUE(other.submit());
  }
  EXPECT_FALSE(other.submit());
  EXPECT_EQ(queued(*channel_), 2 * kRingEntries);
  const ClientArea* last = nullptr;
  for (uint32_t turn = 0; turn < 2 * kRingEntries; ++turn) {
    const Command command = take();
    ASSERT_NE(command.client.get(), last) << turn;
    last = command.client.get();
    queue_.finish(command, ERT_CMD_STATE_COMPLETED);
  }
  EXPECT_EQ(queued(*channel_), 0u);
  EXPECT_FALSE(queue_.busy());
}

TEST_F(CommandQueueTest, ClientsOfAllSlotsTakeTurns) {
  // Slots in between are taken by clients without commands.
  const auto insert_until = [&](uint32_t slot) {
    while (clients_.insert(area_).value() + 1 < slot) {
    }
  };
  std::vector<std::unique_ptr<Neighbour>> others;
  for (const uint32_t slot : {63u, 64u, 130u, 255u}) {
    if (slot != 64) insert_until(slot);
    others.push_back(std::make_unique<Neighbour>(clients_, *channel_));
    ASSERT_EQ(others.back()->slot, slot);
  }
  EXPECT_FALSE(clients_.insert(area_).has_value());
  for (int round = 0; round < 2; ++round) {
    for (const auto& other : others) ASSERT_TRUE(other->submit());
    submit();
  }
  for (int round = 0; round < 2; ++round) {
    for (const auto& other : others) {
      const Command command = take();
      EXPECT_EQ(command.client, other->area) << other->slot;
      queue_.finish(command, ERT_CMD_STATE_COMPLETED);
    }
    const Command own = take();
    EXPECT_EQ(own.client, area_);
    queue_.finish(own, ERT_CMD_STATE_COMPLETED);
  }
}

TEST_F(CommandQueueTest, ACommandCountsUntilItIsFinished) {
  EXPECT_FALSE(queue_.busy());
  submit();
  EXPECT_TRUE(queue_.busy());
  const Command command = take();
  EXPECT_TRUE(queue_.busy());
  EXPECT_EQ(queued(*channel_), 1u);
  const uint32_t announced = area_->state().completions.load();
  queue_.finish(command, ERT_CMD_STATE_COMPLETED);
  EXPECT_FALSE(queue_.busy());
  EXPECT_EQ(queued(*channel_), 0u);
  EXPECT_EQ(area_->state().completions.load(), announced + 1);
}

TEST_F(CommandQueueTest, ACommandThatWasCancelledWhileItWaitedIsSkipped) {
  submit();
  submit();
  area_->state().rings[0].entries[0].state.store(EntryState::kCancelled);
  const Command command = take();
  EXPECT_EQ(command.entry, &area_->state().rings[0].entries[1]);
  EXPECT_EQ(queued(*channel_), 1u);
  queue_.finish(command, ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(queued(*channel_), 0u);
}

TEST_F(CommandQueueTest, AFinishedCommandThatWasCancelledKeepsItsState) {
  submit();
  const Command command = take();
  ASSERT_TRUE(queue_.begin(command));
  abort(command);
  queue_.finish(command, ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(state(), static_cast<uint32_t>(ERT_CMD_STATE_ABORT));
}

TEST_F(CommandQueueTest, CommandsOfAClientThatIsGoneAreDropped) {
  Neighbour other(clients_, *channel_);
  ASSERT_TRUE(other.submit());
  ASSERT_TRUE(other.submit());
  clients_.remove(other.slot);
  submit();
  const Command command = take();
  EXPECT_EQ(command.client, area_);
  queue_.finish(command, ERT_CMD_STATE_COMPLETED);
  EXPECT_FALSE(queue_.busy());
  // The unit looks once more, finds nothing, and counts all as finished.
  std::thread unit([&] { EXPECT_FALSE(queue_.next(stopping_).has_value()); });
  while (queued(*channel_) != 0) std::this_thread::yield();
  stopping_.store(true);
  ring_bell(*channel_);
  unit.join();
}

TEST_F(CommandQueueTest, ACommandRunsOnWhenItsClientIsGone) {
  submit();
  const Command command = take();
  clients_.remove(slot_);
  EXPECT_TRUE(queue_.busy());
  queue_.finish(command, ERT_CMD_STATE_COMPLETED);
  EXPECT_FALSE(queue_.busy());
  EXPECT_EQ(queued(*channel_), 0u);
}

TEST_F(CommandQueueTest, AUnitThatEndsFailsWhatIsQueued) {
  Neighbour other(clients_, *channel_);
  submit();
  ASSERT_TRUE(other.submit());
  queue_.fail_all();
  EXPECT_EQ(state(), static_cast<uint32_t>(ERT_CMD_STATE_ERROR));
  EXPECT_EQ(queued(*channel_), 0u);
  EXPECT_FALSE(queue_.busy());
  stopping_.store(true);
  submit();
  EXPECT_FALSE(queue_.next(stopping_).has_value());
}

}  // namespace
}  // namespace tandem::emulation
