// SPDX-License-Identifier: Apache-2.0
//
// Accesses of several units to the same bytes.
#include "emulation/card/checks/race_map.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <utility>

namespace tandem::emulation {
namespace {

constexpr uint64_t kMapBytes = 1 << 20;

// The order of a command: by unit, the newest call that was over.
StartOrder after(std::initializer_list<std::pair<uint32_t, uint32_t>> over) {
  StartOrder order;
  order.is_known = true;
  for (const auto& [unit, call] : over) order.over[unit] = call;
  return order;
}

TEST(RaceMap, TwoRunningWritersOfOneByteConflict) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  map.begin_run(2);
  EXPECT_FALSE(map.touch(1, 100, 4, true, 77));
  const auto conflict = map.touch(2, 103, 1, true, 5);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->unit, 1u);
  EXPECT_TRUE(conflict->wrote);
  EXPECT_EQ(conflict->code_offset, 77u);
}

TEST(RaceMap, NeighbouringBytesAreNoConflict) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  map.begin_run(2);
  EXPECT_FALSE(map.touch(1, 100, 2, true, 0));
  EXPECT_FALSE(map.touch(2, 102, 2, true, 0));
  EXPECT_FALSE(map.touch(1, 100, 2, false, 0));
}

TEST(RaceMap, BytesOfOneWordThatAUnitTouchesAddUp) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  map.begin_run(2);
  EXPECT_FALSE(map.touch(1, 100, 1, true, 0));
  EXPECT_FALSE(map.touch(1, 101, 1, true, 0));
  EXPECT_TRUE(map.touch(2, 100, 1, true, 0));
}

TEST(RaceMap, AWriteAfterAReadConflictsAndTwoReadsDoNot) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  map.begin_run(2);
  EXPECT_FALSE(map.touch(1, 64, 64, false, 3));
  EXPECT_FALSE(map.touch(2, 64, 64, false, 4));
  const auto conflict = map.touch(1, 127, 1, true, 5);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->unit, 2u);
  EXPECT_FALSE(conflict->wrote);
}

TEST(RaceMap, ARunThatHasEndedIsNoConflict) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  EXPECT_FALSE(map.touch(1, 8, 16, true, 0));
  map.end_run(1);
  map.begin_run(2);
  EXPECT_FALSE(map.touch(2, 8, 8, true, 0));
  map.begin_run(1);  // unit 1's next run did not touch them
  EXPECT_FALSE(map.touch(2, 8, 16, true, 0));
}

TEST(RaceMap, ARunThatTheProgramDidNotKnowToBeOverConflictsAfterItsEnd) {
  for (const bool first_writes : {true, false}) {
    RaceMap map(kMapBytes);
    const uint32_t call = map.begin_run(1);
    EXPECT_FALSE(map.touch(1, 8, 16, first_writes, 77));
    map.end_run(1);
    map.begin_run(2, after({{3, 5}}));
    const auto conflict = map.touch(2, 20, 8, !first_writes, 5);
    ASSERT_TRUE(conflict);
    EXPECT_EQ(conflict->unit, 1u);
    EXPECT_EQ(conflict->wrote, first_writes);
    EXPECT_EQ(conflict->code_offset, 77u);
    EXPECT_EQ(conflict->call, call);
    EXPECT_FALSE(conflict->runs);
    EXPECT_FALSE(map.touch(2, 24, 8, !first_writes, 5)) << "beside it";
  }
}

TEST(RaceMap, OnlyLaterCallsThanTheOneThatWasOverConflict) {
  RaceMap map(kMapBytes);
  const uint32_t first = map.begin_run(1);
  EXPECT_FALSE(map.touch(1, 0, 4, true, 0));
  map.end_run(1);
  map.begin_run(1);
  EXPECT_FALSE(map.touch(1, 8192, 4, true, 0));
  map.end_run(1);
  map.begin_run(2, after({{1, first}}));
  EXPECT_FALSE(map.touch(2, 0, 4, true, 0));
  EXPECT_TRUE(map.touch(2, 8192, 4, true, 0));
  map.end_run(2);
  map.begin_run(3, after({{1, first + 1}, {2, 1}}));
  EXPECT_FALSE(map.touch(3, 8192, 4, true, 0));
}

// The first one may be long, and the second one over when both touch the same bytes.
TEST(RaceMap, ACallThatBeganLaterConflictsToo) {
  RaceMap map(kMapBytes);
  map.begin_run(1, after({}));
  map.begin_run(2, after({}));
  EXPECT_FALSE(map.touch(2, 64, 4, true, 0));
  map.end_run(2);
  EXPECT_TRUE(map.touch(1, 64, 4, false, 0));
}

TEST(RaceMap, CallsOfOneUnitConflictIfAnotherUnitCouldHaveMadeThem) {
  for (const bool may_move : {true, false}) {
    RaceMap map(kMapBytes);
    const uint32_t first = map.begin_run(1);
    EXPECT_FALSE(map.touch(1, 64, 4, true, 0));
    map.end_run(1);
    StartOrder order = after({});
    order.may_move = may_move;
    map.begin_run(1, order);
    EXPECT_EQ(map.touch(1, 64, 4, false, 0).has_value(), may_move);
    EXPECT_FALSE(map.touch(1, 4096, 4, true, 0));
    EXPECT_FALSE(map.touch(1, 4096, 4, false, 0)) << "its own";
    map.end_run(1);
    order = after({{1, first + 1}});
    order.may_move = may_move;
    map.begin_run(1, order);
    EXPECT_FALSE(map.touch(1, 64, 4, true, 0));
  }
}

// So a race stays one however much is touched beside it.
TEST(RaceMap, WhatHasNoOrderStaysInItsBlock) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  EXPECT_FALSE(map.touch(1, 0, 64, true, 7));
  EXPECT_FALSE(map.touch(1, 1000, 4, true, 8));
  map.end_run(1);
  map.begin_run(2, after({}));
  EXPECT_FALSE(map.touch(2, 64, 400, true, 9));
  EXPECT_FALSE(map.touch(2, 2000, 4, true, 9));
  for (int times = 0; times < 2; ++times) {
    EXPECT_TRUE(map.touch(2, 60, 4, true, 9));
    EXPECT_TRUE(map.touch(2, 1000, 4, true, 9));
  }
}

// Marks have 20 bits of a call's number. The calls 1 and 2^20 + 1 look the same there.
TEST(RaceMap, ForgetsCallsBeforeTheirNumbersReturn) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  EXPECT_FALSE(map.touch(1, 64, 4, true, 0));
  uint32_t call = 1;
  const auto repeat_until = [&](uint32_t last) {
    while (call < last) {
      map.end_run(1);
      call = map.begin_run(1);
    }
  };
  repeat_until(kCallMask / 2 - 1);
  map.begin_run(2, after({}));
  EXPECT_TRUE(map.touch(2, 64, 4, false, 0)) << "still known";
  map.end_run(2);
  repeat_until(kCallMask + 2);
  map.begin_run(2, after({}));
  EXPECT_FALSE(map.touch(2, 64, 4, false, 0));
  EXPECT_TRUE(map.touch(1, 64, 4, true, 0)) << "what is new is known";
}

TEST(RaceMap, ForgetsAllWhenTheUnitsChange) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  EXPECT_FALSE(map.touch(1, 64, 4, true, 0));
  EXPECT_FALSE(map.touch(1, 8192, 4096, true, 0));
  EXPECT_TRUE(map.is_first(1, 2, 9));
  map.forget_all();
  map.begin_run(2, after({}));
  EXPECT_FALSE(map.touch(2, 64, 4, true, 0));
  EXPECT_FALSE(map.touch(2, 8192, 4096, true, 0));
  EXPECT_TRUE(map.is_first(1, 2, 9));
}

TEST(RaceMap, ARaceOfTwoUnitsInABufferIsNewOnce) {
  RaceMap map(kMapBytes);
  EXPECT_TRUE(map.is_first(1, 2, 9));
  EXPECT_FALSE(map.is_first(2, 1, 9));
  EXPECT_TRUE(map.is_first(1, 2, 10));
  EXPECT_TRUE(map.is_first(1, 3, 9));
}

TEST(OrderTable, GivesWhatWasPutUntilItIsOverwritten) {
  const auto table = std::make_unique<OrderTable>();
  StartOrder order = after({{0, 3}, {kMaxUnits - 1, 7}});
  order.may_move = true;
  const uint64_t ticket = table->put(order);
  const StartOrder found = table->get(ticket);
  EXPECT_TRUE(found.is_known);
  EXPECT_TRUE(found.may_move);
  EXPECT_EQ(found.over, order.over);
  EXPECT_FALSE(table->get(0).is_known);
  order.num_units = 1;
  EXPECT_EQ(table->get(table->put(order)).over, after({{0, 3}}).over);
  for (uint64_t times = 2; times < OrderTable::kNumSlots; ++times) table->put(after({}));
  EXPECT_TRUE(table->get(ticket).is_known);
  EXPECT_FALSE(table->get(table->put(after({}))).may_move);
  EXPECT_FALSE(table->get(ticket).is_known);
}

TEST(RaceMap, OnesOwnAccessesAreNoConflict) {
  RaceMap map(kMapBytes);
  map.begin_run(0);
  EXPECT_FALSE(map.touch(0, 0, 8, true, 0));
  EXPECT_FALSE(map.touch(0, 0, 8, false, 0));
  EXPECT_FALSE(map.touch(0, 4, 8, true, 0));
}

// Blocks of 4096 bytes have entries of their own.
TEST(RaceMap, WholeBlocksConflictWithBlocksAndWithParts) {
  for (const uint64_t second : {uint64_t{8192}, uint64_t{8200}}) {
    for (const bool first_is_block : {true, false}) {
      RaceMap map(kMapBytes);
      map.begin_run(1);
      map.begin_run(2);
      const uint64_t block_begin = 4096, block_bytes = 3 * 4096;
      if (first_is_block) {
        EXPECT_FALSE(map.touch(1, block_begin, block_bytes, true, 7));
        EXPECT_TRUE(map.touch(2, second, second % 4096 == 0 ? 4096 : 4, false, 0)) << second;
      } else {
        EXPECT_FALSE(map.touch(1, second, second % 4096 == 0 ? 4096 : 4, false, 7));
        const auto conflict = map.touch(2, block_begin, block_bytes, true, 0);
        ASSERT_TRUE(conflict) << second;
        EXPECT_FALSE(conflict->wrote);
        EXPECT_EQ(conflict->unit, 1u);
        EXPECT_EQ(conflict->code_offset, 7u);
      }
    }
  }
}

TEST(RaceMap, PartsOfABlockByTwoUnitsAreBothFound) {
  for (const uint32_t unit : {1u, 2u}) {
    RaceMap map(kMapBytes);
    for (const uint32_t each : {1u, 2u, 3u}) map.begin_run(each);
    EXPECT_FALSE(map.touch(1, 4100, 4, true, 0));
    EXPECT_FALSE(map.touch(2, 4200, 4, true, 0));
    map.end_run(unit);  // the other one still runs
    EXPECT_TRUE(map.touch(3, 4096, 4096, false, 0)) << unit;
  }
}

TEST(RaceMap, BlocksOfEndedRunsAndReadsAreNoConflict) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  EXPECT_FALSE(map.touch(1, 0, 8192, false, 0));
  map.begin_run(2);
  EXPECT_FALSE(map.touch(2, 0, 8192, false, 0));
  EXPECT_FALSE(map.touch(2, 4, 4, false, 0));
  map.end_run(1);
  EXPECT_FALSE(map.touch(2, 0, 8192, true, 0));
  map.begin_run(1);
  EXPECT_TRUE(map.touch(1, 100, 4, true, 0));
}

// Bytes that follow each other are one span; what lies beside it is not.
TEST(RaceMap, ASpanHasTheBytesThatItsUnitTouched) {
  for (const bool ascends : {true, false}) {
    RaceMap map(kMapBytes);
    map.begin_run(1);
    map.begin_run(2);
    for (uint64_t index = 0; index < 100; ++index) {
      EXPECT_FALSE(map.touch(1, 5000 + 4 * (ascends ? index : 99 - index), 4, true, 9));
    }
    EXPECT_FALSE(map.touch(2, 4999, 1, false, 0));
    EXPECT_FALSE(map.touch(2, 5400, 4, false, 0));
    for (const uint64_t byte : {5000, 5200, 5399}) {
      const auto conflict = map.touch(2, byte, 1, false, 0);
      ASSERT_TRUE(conflict) << byte;
      EXPECT_EQ(conflict->code_offset, 9u);
    }
  }
}

TEST(RaceMap, BytesBesideAGapAreFoundButNotTheGap) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  map.begin_run(2);
  for (const uint64_t at : {100, 120, 140}) EXPECT_FALSE(map.touch(1, at, 4, true, 9));
  for (const uint64_t at : {104, 124, 144}) EXPECT_FALSE(map.touch(2, at, 16, true, 5));
  for (const uint64_t at : {100, 120, 140}) EXPECT_TRUE(map.touch(2, at, 4, false, 5)) << at;
}

TEST(RaceMap, AGapOfOneByteIsAGap) {
  for (const bool ascends : {true, false}) {
    RaceMap map(kMapBytes);
    map.begin_run(1);
    map.begin_run(2);
    EXPECT_FALSE(map.touch(1, ascends ? 100 : 105, 4, true, 9));
    EXPECT_FALSE(map.touch(1, ascends ? 105 : 100, 4, true, 9));
    EXPECT_FALSE(map.touch(2, 104, 1, false, 5));
    EXPECT_TRUE(map.touch(2, 103, 1, false, 5));
    EXPECT_TRUE(map.touch(2, 105, 1, false, 5));
  }
}

// A span names one place.
TEST(RaceMap, EachAccessHasItsOwnPlace) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  map.begin_run(2);
  EXPECT_FALSE(map.touch(1, 0, 4, true, 7));
  EXPECT_FALSE(map.touch(1, 4, 4, true, 8));
  EXPECT_FALSE(map.touch(1, 8, 4, true, 7));
  for (const uint64_t at : {0, 4, 8}) {
    const auto conflict = map.touch(2, at, 4, true, 1);
    ASSERT_TRUE(conflict) << at;
    EXPECT_EQ(conflict->code_offset, at == 4 ? 8u : 7u) << at;
  }
}

TEST(RaceMap, TheSpanOfARunningUnitStays) {
  RaceMap map(kMapBytes);
  for (const uint32_t each : {1u, 2u, 3u}) map.begin_run(each);
  EXPECT_FALSE(map.touch(1, 0, 64, true, 7));
  EXPECT_FALSE(map.touch(2, 128, 64, true, 8));
  EXPECT_TRUE(map.touch(3, 32, 4, false, 0));
  EXPECT_TRUE(map.touch(3, 160, 4, false, 0));
  map.end_run(1);
  EXPECT_FALSE(map.touch(2, 256, 64, true, 8)) << "in the place of the ended one's";
  EXPECT_FALSE(map.touch(3, 32, 4, false, 0));
  EXPECT_TRUE(map.touch(3, 300, 4, false, 0));
}

// What found a race once finds it again: the caller may look a second time to tell its place.
TEST(RaceMap, AnAccessThatConflictsStaysOne) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  map.begin_run(2);
  for (const uint64_t at : {100, 120, 140}) EXPECT_FALSE(map.touch(1, at, 4, true, 9));
  EXPECT_FALSE(map.touch(1, 4096, 4096, true, 9));
  for (int times = 0; times < 3; ++times) {
    for (const uint64_t at : {100, 120, 140}) EXPECT_TRUE(map.touch(2, at, 4, true, 5)) << at;
    EXPECT_TRUE(map.touch(2, 4096, 4096, true, 5));
    EXPECT_TRUE(map.touch(2, 5000, 4, true, 5));
  }
}

}  // namespace
}  // namespace tandem::emulation
