// SPDX-License-Identifier: Apache-2.0
//
// The states of device memory and the records of its buffers; the names of checks.
#include "emulation/protocol/memory_states.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <vector>

#include "emulation/protocol/checks.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kStateBytes = 1 << 20;

TEST(MemoryStates, ABufferIsLiveThenFreed) {
  const MemoryStates states = MemoryStates::create(kStateBytes);
  states.make_buffer(4096, 100, 3, false, {});
  EXPECT_EQ(states.states()[4095], 0);
  EXPECT_EQ(states.states()[4096], kStateLive);
  EXPECT_EQ(states.states()[4195], kStateLive);
  EXPECT_EQ(states.states()[4196], 0);
  ASSERT_NE(states.find(4100), nullptr);
  EXPECT_EQ(states.find(4100)->size_bytes, 100u);
  EXPECT_EQ(states.find(4100)->group, 3u);
  states.free_buffer(4096, 100);
  EXPECT_EQ(states.states()[4096], kStateFreed);
  EXPECT_EQ(states.find(4100)->state.load(), uint32_t{kStateFreed});
}

TEST(MemoryStates, BehindASmallerBufferNothingIsLeftOfAnEarlierOne) {
  const MemoryStates states = MemoryStates::create(kStateBytes);
  states.make_buffer(4096, 200, 0, true, {});
  states.free_buffer(4096, 200);
  states.make_buffer(4096, 100, 3, true, {});
  EXPECT_EQ(states.states()[4195], kStateLive | kStateWritten);
  EXPECT_EQ(states.states()[4250], 0);
  EXPECT_EQ(states.find(4250)->group, 3u);
}

TEST(MemoryStates, OutsideOfBuffersTheClosestIsFoundLiveOnesFirst) {
  const MemoryStates states = MemoryStates::create(kStateBytes);
  EXPECT_EQ(states.find(0), nullptr);
  states.make_buffer(4096, 100, 0, true, {});
  states.make_buffer(12288, 100, 0, true, {});
  EXPECT_EQ(states.find(0)->address, 4096u);
  EXPECT_EQ(states.find(4000)->address, 4096u);
  // Between are 8092 bytes. A byte before a buffer counts as 64 beyond one.
  EXPECT_EQ(states.find(12288 - 125)->address, 4096u);
  EXPECT_EQ(states.find(12288 - 124)->address, 12288u);
  EXPECT_EQ(states.find(20000)->address, 12288u);
  EXPECT_EQ(states.states()[12288], kStateLive | kStateWritten);
  states.free_buffer(12288, 100);
  EXPECT_EQ(states.find(12300)->address, 12288u) << "it contained the address";
  EXPECT_EQ(states.find(12287)->address, 4096u);
  states.free_buffer(4096, 100);
  EXPECT_EQ(states.find(12287)->address, 12288u) << "of freed ones the closest";
}

TEST(MemoryStates, AreSharedAndChangedBit) {
  const MemoryStates card = MemoryStates::create(kStateBytes);
  const MemoryStates client = MemoryStates::adopt(dup(card.descriptor()), kStateBytes);
  client.make_buffer(0, 64, 0, false, {});
  client.change(8, 8, kStateWritten | kStateStale, 0);
  EXPECT_TRUE(card.any(0, 64, kStateStale));
  EXPECT_FALSE(card.any(0, 8, kStateStale));
  card.change(8, 8, 0, kStateStale);
  EXPECT_FALSE(client.any(0, 64, kStateStale));
  EXPECT_TRUE(client.any(15, 1, kStateWritten));
}

// Who clears bits learns in the same step whether a kernel has set them.
TEST(MemoryStates, AChangeGivesTheBitsBefore) {
  const MemoryStates states = MemoryStates::create(kStateBytes);
  states.make_buffer(0, 64, 0, false, {});
  EXPECT_EQ(states.change(0, 64, kStateWritten, 0), kStateLive);
  states.states()[63] |= kStateUnseen;
  EXPECT_EQ(states.change(0, 63, 0, kStateUnseen), kStateLive | kStateWritten);
  EXPECT_EQ(states.change(0, 64, 0, kStateUnseen), kStateLive | kStateWritten | kStateUnseen);
  EXPECT_EQ(states.change(0, 64, 0, kStateUnseen), kStateLive | kStateWritten);
  EXPECT_EQ(states.change(kStateBytes, 1, kStateLive, 0), 0);
}

TEST(MemoryStates, ChangesAreCountedPerBlock) {
  const MemoryStates card = MemoryStates::create(kStateBytes);
  const MemoryStates client = MemoryStates::adopt(dup(card.descriptor()), kStateBytes);
  const uint64_t before = card.changes();
  const auto counts = [&card] {
    return std::vector<uint32_t>{card.block_changes(0), card.block_changes(4096),
                                 card.block_changes(8192), card.block_changes(12288)};
  };
  client.change(4095, 2, kStateWritten, 0);
  EXPECT_EQ(counts(), (std::vector<uint32_t>{1, 1, 0, 0}));
  client.make_buffer(8192, 100, 0, true, {});
  client.free_buffer(8192, 100);
  EXPECT_EQ(counts(), (std::vector<uint32_t>{1, 1, 2, 0}));
  client.note_change(0, 0);
  client.change(0, 0, kStateWritten, 0);
  EXPECT_EQ(counts(), (std::vector<uint32_t>{1, 1, 2, 0}));
  EXPECT_EQ(card.changes(), before + 3);
}

TEST(MemoryStates, UnseenBytesAreFoundUntilTheyAreCleared) {
  const MemoryStates states = MemoryStates::create(kStateBytes);
  EXPECT_FALSE(states.any_unseen(0, kStateBytes));
  states.change(8000, 500, kStateUnseen, 0);
  EXPECT_TRUE(states.any_unseen(0, 8001));
  EXPECT_FALSE(states.any_unseen(0, 8000));
  EXPECT_TRUE(states.any_unseen(8499, 1));
  EXPECT_FALSE(states.any_unseen(8500, 100));
  states.change(0, 8192, 0, kStateUnseen);
  EXPECT_FALSE(states.any_unseen(0, 8192));
  EXPECT_TRUE(states.any_unseen(8192, 1));
  states.states()[20000] = kStateUnseen;
  states.note_unseen(20000, 1);
  EXPECT_TRUE(states.any_unseen(16384, 8192));
  states.change(20000, 1, 0, kStateUnseen);
  EXPECT_FALSE(states.any_unseen(16384, 8192));
  EXPECT_FALSE(states.any_unseen(kStateBytes, 1)) << "outside of memory";
}

TEST(MemoryStates, RangesOutsideOfMemoryAreLeftAlone) {
  const MemoryStates states = MemoryStates::create(kStateBytes);
  states.make_buffer(kStateBytes - 10, 100, 0, true, {});
  states.change(~uint64_t{0} - 3, 100, kStateWritten, 0);
  EXPECT_FALSE(states.any(kStateBytes - 10, 10, 0xff));
}

TEST(MemoryStates, ACopyIsAsWrittenAsItsSource) {
  const MemoryStates states = MemoryStates::create(kStateBytes);
  states.make_buffer(0, 3, 0, false, {});
  states.make_buffer(8192, 3, 0, true, {});
  states.change(0, 1, kStateWritten, 0);
  states.change(1, 1, kStateStale, 0);
  const uint32_t before = states.block_changes(8192);
  states.copy(8192, 0, 3);
  const uint8_t copied = kStateLive | kStateUnseen;
  EXPECT_EQ(states.states()[8192], copied | kStateWritten);
  EXPECT_EQ(states.states()[8193], copied | kStateStale);
  EXPECT_EQ(states.states()[8194], copied);
  EXPECT_NE(states.block_changes(8192), before);
  EXPECT_TRUE(states.any_unseen(8192, 3));
  for (const uint64_t to : {uint64_t{8193}, uint64_t{8192}}) {  // one over the other, and back
    states.copy(to, 16385 - to, 3);
    EXPECT_EQ(states.states()[to], copied | kStateWritten);
    EXPECT_EQ(states.states()[to + 1], copied | kStateStale);
    EXPECT_EQ(states.states()[to + 2], copied);
  }
  states.copy(8192, kStateBytes, 3);  // memory of another card
  EXPECT_EQ(states.states()[8194], copied | kStateWritten);
}

TEST(MemoryStates, ManyBuffersTakeThePlacesOfFreedOnes) {
  const MemoryStates states = MemoryStates::create(uint64_t{1} << 30);
  for (uint64_t index = 0; index < kMaxBufferRecords + 10; ++index) {
    states.make_buffer(index * 4096, 8, 0, true, {});
    states.free_buffer(index * 4096, 8);
  }
  states.make_buffer(uint64_t{1} << 29, 8, 7, true, {});
  ASSERT_NE(states.find(uint64_t{1} << 29), nullptr);
  EXPECT_EQ(states.find(uint64_t{1} << 29)->group, 7u);
}

TEST(CardChecks, AreNamed) {
  EXPECT_EQ(parse_checks("", false), 0u);
  EXPECT_EQ(parse_checks("none", true), 0u);
  EXPECT_EQ(parse_checks("none,depths", true), uint32_t{kCheckDepths});
  EXPECT_EQ(parse_checks("sync", false), kCheckSync | kCheckMemory);
  const uint32_t usual = kCheckMemory | kCheckRace | kCheckSync;
  EXPECT_EQ(parse_checks("", true), usual | kCheckFirstDepths);
  EXPECT_EQ(parse_checks("strict", false), usual | kCheckDepths | kCheckStrict);
  EXPECT_EQ(parse_checks("all", false), usual | kCheckDepths);
}

TEST(CardChecks, AnUnknownNameIsAnError) {
  try {
    parse_checks("memory,sink", false);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "TANDEM_CHECKS names 'sink'; the checks are: depths, memory, race, sync, "
                 "strict, all, none");
  }
}

}  // namespace
}  // namespace tandem::emulation
