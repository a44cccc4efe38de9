// SPDX-License-Identifier: Apache-2.0
//
// What a program knows to be over when it starts a run.
#include "run_order_case.h"

namespace tandem::emulation {
namespace {

class RunOrderTest : public RunOrderCase {};

TEST_F(RunOrderTest, ARunIsOverOnceTheProgramHasWaitedForIt) {
  EXPECT_EQ(start(0, 100)->over[0], 0u);
  const uint32_t call = make(0);
  EXPECT_EQ(start(1, 200)->over[0], 0u);
  order.waited(card, 100);
  const auto known = start(2, 300);
  EXPECT_TRUE(known->is_known);
  EXPECT_EQ(known->over[0], call);
  EXPECT_EQ(known->over[1], 0u);
}

TEST_F(RunOrderTest, EarlierRunsOfItsUnitAreOverToo) {
  start(0, 100);
  start(0, 200);
  start(0, 300);
  make(0);
  const uint32_t second = make(0);
  make(0);
  order.waited(card, 200);
  EXPECT_EQ(start(1, 400)->over[0], second);
}

TEST_F(RunOrderTest, AShownRunIsOverAtItsEnd) {
  RunOrder::Start shown = by_program(0, 100);
  shown.is_shown = true;
  start(shown);
  const uint32_t call = begin(0);
  EXPECT_EQ(start(1, 200)->over[0], 0u);
  end(0);
  EXPECT_EQ(start(1, 300)->over[0], call);
}

// The packet has its last state before the unit leaves the entry.
TEST_F(RunOrderTest, AShownRunIsOverWhenItsEntrySaysSo) {
  RunOrder::Start shown = by_program(0, 100);
  shown.is_shown = true;
  start(shown);
  const uint32_t call = begin(0);
  ring(0).entries[0].state.store(EntryState::kRunning);
  EXPECT_EQ(start(1, 200)->over[0], 0u);
  ring(0).entries[0].state.store(EntryState::kDone);
  EXPECT_EQ(start(1, 300)->over[0], call);
}

// Registers show the end of the call before the unit ends the command.
TEST_F(RunOrderTest, AShownRunIsOverWhenItsLastCallHasEnded) {
  start(0, 50);
  shared->units[0].ended_call.store(make(0));
  RunOrder::Start shown = by_program(0, 100);
  shown.is_shown = true;
  start(shown);
  EXPECT_EQ(start(1, 200)->over[0], 0u) << "it has not begun";
  const uint32_t call = begin(0);
  EXPECT_EQ(start(1, 300)->over[0], 0u);
  shared->units[0].ended_call.store(call);
  EXPECT_EQ(start(1, 400)->over[0], call);
  const uint32_t next = begin(0);
  EXPECT_EQ(start(1, 500)->over[0], call) << "it repeats";
  end(0);
  EXPECT_EQ(start(1, 600)->over[0], next);
}

TEST_F(RunOrderTest, ARunThatIsNotShownIsNotOverWhenItsCallHasEnded) {
  start(0, 100);
  shared->units[0].ended_call.store(begin(0));
  EXPECT_EQ(start(1, 200)->over[0], 0u);
}

// Another thread may look at it between its start and the ring.
TEST_F(RunOrderTest, AShownRunThatIsNotYetInItsRingIsNotOver) {
  for (uint32_t times = 0; times < kRingEntries; ++times) {
    start(0, 1000 + times);
    make(0);
    ring(0).entries[times].state.store(EntryState::kDone);
  }
  RunOrder::Start shown = by_program(0, 100);
  shown.is_shown = true;
  order.start(shown);
  EXPECT_EQ(start(1, 200)->over[0], 0u);
  ring(0).submitted.fetch_add(1);
  ring(0).entries[0].state.store(EntryState::kRunning);
  const uint32_t call = begin(0);
  EXPECT_EQ(start(1, 300)->over[0], 0u);
  end(0);
  EXPECT_EQ(start(1, 400)->over[0], call);
}

TEST_F(RunOrderTest, ACommandThatIsNotYetInItsRingHasNotBegun) {
  start(0, 100);
  make(0);
  order.belongs_to(card, 200, {queue, queue, true});
  order.start({{card, 0, ring(0).submitted.load(), 200}, false, false, false});
  order.put_after(*queue, node(OrderNode::Kind::kKernel));  // by another thread
  ring(0).submitted.fetch_add(1);
  const uint32_t call = make(0);
  EXPECT_EQ(start_for({queue, queue, true}, 1, 300)->over[0], call);
}

TEST_F(RunOrderTest, ARunMayBeShownLater) {
  start(0, 100);
  start(3, 200);
  const uint32_t call = make(0);
  const uint32_t other = make(3);
  order.show(card, 100);
  EXPECT_EQ(start(1, 300)->over[0], call);
  EXPECT_EQ(start(1, 400)->over[3], 0u);
  order.show_unit(card, 3);
  EXPECT_EQ(start(1, 500)->over[3], other);
}

TEST_F(RunOrderTest, OfARunThatIsNotTheProgramsNoOrderIsKnown) {
  RunOrder::Start other = by_program(0, 100);
  other.is_of_program = false;
  EXPECT_FALSE(start(other));
  const uint32_t call = make(0);
  EXPECT_EQ(start(1, 200)->over[0], call) << "it counts once it is over";
}

TEST_F(RunOrderTest, SeveralUnitsCouldTakeARun) {
  RunOrder::Start run = by_program(0, 100);
  EXPECT_FALSE(start(run)->may_move);
  run = by_program(0, 200);
  run.may_move = true;
  EXPECT_TRUE(start(run)->may_move);
}

// XRT starts a run again only if it is over, but gives its packet to another run in any case.
TEST_F(RunOrderTest, ARunThatStartsAgainWasOver) {
  for (const bool is_other_run : {false, true}) {
    const uint32_t unit = is_other_run ? 5 : 4;
    start(unit, 100);
    const uint32_t call = make(unit);
    if (is_other_run) order.forget_packet(card, 100);
    EXPECT_EQ(start(unit, 100)->over[unit], is_other_run ? 0u : call);
    order.forget_packet(card, 100);
  }
}

TEST_F(RunOrderTest, ARunWhoseEntryHasAnotherRunNowIsOverWithAllThatHaveBegun) {
  start(0, 100);
  for (uint32_t times = 0; times < kRingEntries; ++times) {
    make(0);
    start(0, 200 + times);
  }
  order.waited(card, 100);
  EXPECT_EQ(start(1, 9000)->over[0], shared->units[0].last_call.load());
}

TEST_F(RunOrderTest, ARaceNamesARun) {
  start(0, 100);
  EXPECT_FALSE(order.is_raced(card, 100));
  const uint32_t call = make(0);
  EXPECT_FALSE(order.is_raced(card, 100));
  shared->units[0].raced[call % kMostRaced].store(call + kMostRaced);
  EXPECT_FALSE(order.is_raced(card, 100)) << "of another run";
  shared->units[0].raced[call % kMostRaced].store(call);
  EXPECT_TRUE(order.is_raced(card, 100));
  start(0, 100);
  make(0);
  EXPECT_FALSE(order.is_raced(card, 100)) << "its next run";
}

TEST_F(RunOrderTest, ManyRunsThatNobodyWaitsForAreForgottenAsOver) {
  start(0, 1);
  const uint32_t call = make(0);
  for (uint64_t packet = 2; packet < 4200; ++packet) {
    start(1, packet);
    make(1);
  }
  EXPECT_EQ(start(2, 5000)->over[0], call);
}

TEST_F(RunOrderTest, ClosedCardsAreNoMatter) {
  start(0, 100);
  order.close_card(card);
  EXPECT_FALSE(start(0, 200));
  order.waited(card, 100);
  order.show(card, 100);
  EXPECT_FALSE(order.is_raced(card, 100));
}

TEST_F(RunOrderTest, RunsOfAnotherCardAreNotThoseOfThisOne) {
  const auto other = std::make_unique<ClientArea>(ClientArea::create());
  const uint64_t other_card = order.open_card(other->state(), *shared);
  EXPECT_NE(order.start({{other_card, 0, 0, 100}, true, false, false}), 0u);
  other->state().rings[0].submitted.store(1);
  other->state().rings[0].entries[0].call.store(7);
  order.waited(other_card, 100);
  EXPECT_EQ(start(1, 100)->over[0], 0u);
  order.close_card(other_card);
}

}  // namespace
}  // namespace tandem::emulation
