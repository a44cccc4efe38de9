// SPDX-License-Identifier: Apache-2.0
//
// What a card does with the commands of a dead client, also when the client left its counters
// damaged.
#include "emulation/card/clients/client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "emulation/protocol/shared_state.h"

namespace tandem::emulation {
namespace {

class ClientTest : public testing::Test {
 protected:
  ClientTest() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) abort();
    peer_ = ends[1];
    client_ = std::make_unique<Client>(ends[0]);
    client_->area = std::make_shared<ClientArea>(ClientArea::create());
  }
  ~ClientTest() override { close(peer_); }

  Ring& ring(uint32_t unit) { return client_->area->state().rings[unit]; }
  RingEntry& put(uint32_t unit, EntryState state) {
    RingEntry& entry = ring(unit).entries[ring(unit).submitted.fetch_add(1) % kRingEntries];
    entry.state.store(state);
    return entry;
  }
  uint32_t bell(uint32_t unit) const { return shared_->units[unit].submitted.load(); }

  std::unique_ptr<SharedState> shared_ = std::make_unique<SharedState>();
  std::unique_ptr<Client> client_;
  int peer_ = -1;
};

TEST_F(ClientTest, IsTheProcessAtTheOtherEnd) {
  EXPECT_EQ(client_->id, getpid());
  EXPECT_GE(client_->process, 0);
}

TEST_F(ClientTest, CancelsWhatHasNotEnded) {
  const RingEntry& queued = put(1, EntryState::kQueued);
  const RingEntry& running = put(1, EntryState::kRunning);
  const RingEntry& done = put(1, EntryState::kDone);
  client_->cancel_commands(*shared_);
  EXPECT_EQ(queued.state.load(), EntryState::kCancelled);
  EXPECT_EQ(running.state.load(), EntryState::kCancelled);
  EXPECT_EQ(done.state.load(), EntryState::kDone);
  EXPECT_EQ(bell(1), 1u);
  EXPECT_EQ(bell(0), 0u) << "a unit without commands is left alone";
}

TEST_F(ClientTest, CancelsOverTheEndOfTheRing) {
  ring(0).finished.store(kRingEntries - 1);
  ring(0).submitted.store(kRingEntries - 1);
  const RingEntry& last = put(0, EntryState::kQueued);
  const RingEntry& first = put(0, EntryState::kQueued);
  client_->cancel_commands(*shared_);
  EXPECT_EQ(last.state.load(), EntryState::kCancelled);
  EXPECT_EQ(first.state.load(), EntryState::kCancelled);
}

TEST_F(ClientTest, ADamagedCounterCostsNoMoreThanARing) {
  put(0, EntryState::kQueued);
  ring(0).submitted.store(~uint32_t{0});
  for (RingEntry& entry : ring(0).entries) entry.state.store(EntryState::kQueued);
  client_->cancel_commands(*shared_);
  for (const RingEntry& entry : ring(0).entries) {
    ASSERT_EQ(entry.state.load(), EntryState::kCancelled);
  }
  EXPECT_EQ(bell(0), 1u);
}

}  // namespace
}  // namespace tandem::emulation
