// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the commands in a ring when their card has ended.
#include "emulation/xrt_shim/card/unfinished_commands.h"

#include <ert.h>
#include <gtest/gtest.h>

namespace tandem::emulation {
namespace {

constexpr uint32_t kHigherBits = 0xabcdef0;

class UnfinishedCommandsTest : public testing::Test {
 protected:
  // A command whose packet's header shows `packet_state`, and the ring's entry `state`.
  void add(EntryState state, uint32_t packet_state) {
    const uint32_t at = ring_.submitted.fetch_add(1);
    RingEntry& entry = ring_.entries[at % kRingEntries];
    entry.packet_offset = uint64_t{64} * (at - first_);
    entry.state.store(state);
    *client_.packet_header(entry.packet_offset) = kHigherBits | packet_state;
  }

  uint32_t packet_state(uint32_t index) const {
    const uint32_t header = *client_.packet_header(uint64_t{64} * index);
    EXPECT_EQ(header & ~0xfu, kHigherBits);
    return header & 0xf;
  }

  void start_at(uint32_t first) {
    first_ = first;
    ring_.submitted.store(first);
    ring_.finished.store(first);
  }

  ClientArea client_ = ClientArea::create();
  Ring& ring_ = client_.state().rings[3];
  uint32_t first_ = 0;
};

TEST_F(UnfinishedCommandsTest, QueuedAndRunningOnesGetAnErrorState) {
  add(EntryState::kRunning, ERT_CMD_STATE_RUNNING);
  add(EntryState::kQueued, ERT_CMD_STATE_NEW);
  add(EntryState::kQueued, ERT_CMD_STATE_SUBMITTED);
  fail_commands(ring_, client_);
  for (uint32_t index : {0, 1, 2}) EXPECT_EQ(packet_state(index), ERT_CMD_STATE_ERROR) << index;
}

TEST_F(UnfinishedCommandsTest, OneThatWasDoneButHasNoFinalStateGetsAnErrorState) {
  add(EntryState::kDone, ERT_CMD_STATE_RUNNING);
  add(EntryState::kCancelled, ERT_CMD_STATE_NEW);
  fail_commands(ring_, client_);
  EXPECT_EQ(packet_state(0), ERT_CMD_STATE_ERROR);
  EXPECT_EQ(packet_state(1), ERT_CMD_STATE_ERROR);
}

TEST_F(UnfinishedCommandsTest, FinalStatesStay) {
  add(EntryState::kDone, ERT_CMD_STATE_COMPLETED);
  add(EntryState::kCancelled, ERT_CMD_STATE_ABORT);
  fail_commands(ring_, client_);
  EXPECT_EQ(packet_state(0), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(packet_state(1), ERT_CMD_STATE_ABORT);
}

TEST_F(UnfinishedCommandsTest, TheRingIsEmptyAfterwardsAndTheCardCannotTakeItsEntries) {
  start_at(kRingEntries - 1);  // the ring's end and its start
  add(EntryState::kQueued, ERT_CMD_STATE_NEW);
  add(EntryState::kRunning, ERT_CMD_STATE_RUNNING);
  fail_commands(ring_, client_);
  EXPECT_EQ(ring_.finished.load(), ring_.submitted.load());
  EXPECT_EQ(ring_.entries[kRingEntries - 1].state.load(), EntryState::kCancelled);
  EXPECT_EQ(ring_.entries[0].state.load(), EntryState::kCancelled);
  EXPECT_EQ(packet_state(1), ERT_CMD_STATE_ERROR);
}

TEST_F(UnfinishedCommandsTest, CommandsOfThePastAreNotTouched) {
  add(EntryState::kDone, ERT_CMD_STATE_RUNNING);
  ring_.finished.store(1);
  fail_commands(ring_, client_);
  EXPECT_EQ(packet_state(0), ERT_CMD_STATE_RUNNING);
}

}  // namespace
}  // namespace tandem::emulation
