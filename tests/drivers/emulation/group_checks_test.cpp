// SPDX-License-Identifier: Apache-2.0
//
// What the checks of a unit make of work-items that meet in memory, and of values that are missing.
#include "emulation/card/checks/group_checks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "emulation/card/checks/run_checks.h"
#include "emulation/card/checks/value_states.h"

namespace tandem::emulation {
namespace {

TEST(ItemRacesTest, AWriteMeetsAnotherItemsReadAndWrite) {
  ItemRaces races;
  races.begin_group(4);
  EXPECT_FALSE(races.touch(64, 4, true, 10));
  EXPECT_FALSE(races.touch(64, 4, false, 11));
  races.set_item(1);
  const auto read = races.touch(64, 4, false, 12);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->wrote);
  EXPECT_EQ(read->code_offset, 10u);
  EXPECT_FALSE(races.touch(68, 4, false, 13));
  races.set_item(2);
  const auto write = races.touch(68, 4, true, 14);
  ASSERT_TRUE(write);
  EXPECT_FALSE(write->wrote);
  EXPECT_EQ(write->code_offset, 13u);
  EXPECT_EQ(write->address, 68u);
}

TEST(ItemRacesTest, ReadsDoNotMeet) {
  ItemRaces races;
  races.begin_group(4);
  for (uint64_t item = 0; item < 4; ++item) {
    races.set_item(item);
    EXPECT_FALSE(races.touch(128, 16, false, 1));
  }
}

TEST(ItemRacesTest, AReaderAmongSeveralMayNotWrite) {
  ItemRaces races;
  races.begin_group(4);
  EXPECT_FALSE(races.touch(128, 4, false, 1));
  races.set_item(1);
  EXPECT_FALSE(races.touch(128, 4, false, 1));
  EXPECT_TRUE(races.touch(128, 4, true, 2));
}

TEST(ItemRacesTest, NeighbouringBytesAreTheirOwn) {
  ItemRaces races;
  races.begin_group(8);
  for (uint64_t item = 0; item < 8; ++item) {
    races.set_item(item);
    EXPECT_FALSE(races.touch(4092 + item, 1, true, 1)) << item;
  }
  EXPECT_TRUE(races.touch(4090, 8, true, 2));
}

TEST(ItemRacesTest, APartOfAWordMeetsTheWholeWord) {
  ItemRaces races;
  races.begin_group(4);
  EXPECT_FALSE(races.touch(64, 4, true, 1));
  EXPECT_FALSE(races.touch(8192, 4, false, 1));
  races.set_item(1);
  EXPECT_TRUE(races.touch(65, 1, false, 2));
  EXPECT_TRUE(races.touch(8195, 1, true, 2));
  EXPECT_FALSE(races.touch(68, 1, true, 2));
}

TEST(ItemRacesTest, ABarrierAndANewGroupSeparate) {
  ItemRaces races;
  for (int group = 0; group < 50; ++group) {
    races.begin_group(2000);
    for (int interval = 0; interval < 3; ++interval) {
      races.set_item(static_cast<uint64_t>(interval));
      EXPECT_FALSE(races.touch(256, 8, true, 1)) << group << " " << interval;
      races.end_interval();
    }
  }
}

constexpr uint64_t kGroupCardBytes = 1 << 20;
constexpr uint64_t kGroupBuffer = 4096;

struct GroupChecksTest : ::testing::Test {
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer has the addresses of the maps";
#else
    if (!has_local_memory()) map_local_memory();
    areas.device = SharedArea::create("tandem-group-checks", kGroupCardBytes);
    areas.states = MemoryStates::create(kGroupCardBytes);
    device = reinterpret_cast<uint64_t>(areas.device.data());
    areas.shadow = std::make_unique<DeviceShadow>(device, kGroupCardBytes, areas.states);
    areas.states.make_buffer(kGroupBuffer, 4096, 0, false, {});
    RunChecks::Unit unit;
    unit.skip_mask = &skip_mask;
    unit.report = [this](const Finding& finding) { found.push_back(finding); };
    unit.num_units = [] { return size_t{1}; };
    unit.code = {reinterpret_cast<uint64_t>(code), reinterpret_cast<uint64_t>(code + 4096)};
    checks = std::make_unique<RunChecks>(areas, std::move(unit));
    checks->begin_call({{"out", kGroupBuffer}});
#endif
  }
  void TearDown() override {
    if (checks == nullptr) return;
    checks->end_call(true);
    checks.reset();
    forget(device - 64, device + kGroupCardBytes + 64);
    std::memset(value_states_of(address_of(local)), 0, sizeof(local));
  }
  static uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
  GroupChecks& group() { return checks->group(); }
  bool begin(uint64_t items) {
    return group().begin_group(items, {{address_of(local), sizeof(local)}});
  }
  // Item `item` stores a number at `at`.
  void store(uint64_t item, int* at, int value, int place) {
    group().set_item(item);
    group().touch(address_of(at), sizeof(int), true, code + place);
    *at = value;
  }
  void load(uint64_t item, const int* at, int place) {
    group().set_item(item);
    group().touch(address_of(at), sizeof(int), false, code + place);
  }

  alignas(64) int local[64] = {};
  alignas(64) char code[4096] = {};
  CardAreas areas;
  uint64_t device = 0;
  uint64_t skip_mask = 0;
  std::vector<Finding> found;
  std::unique_ptr<RunChecks> checks;
};

TEST_F(GroupChecksTest, ARaceOfItemsIsToldOnce) {
  EXPECT_TRUE(begin(4));
  store(0, &local[3], 7, 8);
  load(1, &local[3], 16);
  load(2, &local[3], 16);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "race");
  EXPECT_EQ(found[0].severity, "error");
  EXPECT_NE(found[0].message.find("local memory"), std::string::npos);
}

TEST_F(GroupChecksTest, ARaceInABufferNamesTheArgument) {
  begin(4);
  int* const at = reinterpret_cast<int*>(device + kGroupBuffer + 8);
  store(0, at, 1, 8);
  store(1, at, 2, 8);
  EXPECT_TRUE(found.empty());  // its bytes have not changed yet
  group().end_group();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].argument, "out");
  EXPECT_NE(found[0].message.find("bytes of a buffer"), std::string::npos);
}

TEST_F(GroupChecksTest, ItemsMayStoreTheSameValue) {
  begin(4);
  for (uint64_t item = 0; item < 4; ++item) store(item, &local[0], 1, 8);
  group().end_group();
  EXPECT_TRUE(found.empty());
}

TEST_F(GroupChecksTest, AnItemAloneAndPrivateMemoryAreNotWatched) {
  EXPECT_FALSE(begin(1));
  EXPECT_TRUE(begin(4));
  int own = 0;
  store(0, &own, 1, 8);
  store(1, &own, 2, 8);
  group().end_group();
  EXPECT_TRUE(found.empty());
}

TEST_F(GroupChecksTest, ABarrierOrdersItems) {
  begin(4);
  store(0, &local[3], 7, 8);
  group().end_interval();
  load(1, &local[3], 16);
  EXPECT_TRUE(found.empty());
}

TEST_F(GroupChecksTest, AnUnevenBarrierIsADeadlock) {
  begin(4);
  group().uneven_barrier(code + 8, nullptr, 4, 4);
  EXPECT_TRUE(found.empty());
  group().uneven_barrier(code + 8, nullptr, 3, 4);
  group().uneven_barrier(code + 8, nullptr, 3, 4);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "deadlock");
  EXPECT_NE(found[0].message.find("only 3 of the 4 work-items"), std::string::npos);
}

TEST_F(GroupChecksTest, AMissingValueThatReachesABufferIsTold) {
  begin(1);
  const uint64_t states = address_of(value_states_of(device + kGroupBuffer));
  std::memset(reinterpret_cast<void*>(states), 0xff, 4);
  group().value_stored(states, 4, 4, code + 8);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "uninitialised_local");
  EXPECT_EQ(*reinterpret_cast<const unsigned char*>(states), 0);
}

TEST_F(GroupChecksTest, PaddingBehindTheLowestByteIsNoMissingNumber) {
  begin(1);
  auto* const states = value_states_of(device + kGroupBuffer);
  std::memset(states + 1, 0xff, 3);
  group().value_stored(address_of(states), 8, 8, code + 8);
  EXPECT_TRUE(found.empty());
  states[4] = 0xff;  // the second lane
  group().value_stored(address_of(states), 8, 4, code + 16);
  EXPECT_EQ(found.size(), 1u);
}

TEST_F(GroupChecksTest, ACopyPassesMissingValuesOn) {
  begin(1);
  std::memset(value_states_of(address_of(local)), 0xff, 16);
  group().values_copied(address_of(local + 8), address_of(local), 16, code + 8);
  EXPECT_TRUE(are_missing_values(address_of(local + 8), 16));
  EXPECT_FALSE(are_missing_values(address_of(local + 8), 20));
  EXPECT_TRUE(found.empty());
  group().values_copied(device + kGroupBuffer, address_of(local), 16, code + 8);
  EXPECT_EQ(found.size(), 1u);
  group().values_set(address_of(local + 8), 4);
  EXPECT_FALSE(are_missing_values(address_of(local + 8), 16));
}

TEST_F(GroupChecksTest, WhatRacesCauseIsNotToldAsMissing) {
  begin(4);
  group().value_used(code + 24);
  store(0, &local[3], 7, 8);
  load(1, &local[3], 16);
  group().end_group();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "race");
  begin(4);
  group().value_used(code + 24);
  group().end_group();
  EXPECT_EQ(found.size(), 2u);
}

}  // namespace
}  // namespace tandem::emulation
