// SPDX-License-Identifier: Apache-2.0
//
// The look before a loop of a work-item: when its version without checks may run, and what is noted
// then.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "emulation/card/checks/run_checks.h"
#include "emulation/card/checks/value_states.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kSpanCardBytes = 1 << 20;
constexpr uint64_t kSpanBuffer = 4096, kSpanBufferBytes = 4096;

TEST(ItemRacesTest, AMeetingIsForeseenAndNotRecorded) {
  ItemRaces races;
  races.begin_group(4);
  EXPECT_FALSE(races.touch(4092, 8, false, 1));
  EXPECT_FALSE(races.touch(64, 1, true, 1));
  EXPECT_FALSE(races.may_meet(4092, 8, true));
  races.set_item(1);
  EXPECT_FALSE(races.may_meet(4092, 8, false));
  EXPECT_TRUE(races.may_meet(4088, 5, true));
  EXPECT_TRUE(races.may_meet(4096, 4, true));
  EXPECT_FALSE(races.may_meet(4100, 4, true));
  EXPECT_TRUE(races.may_meet(60, 5, false));
  EXPECT_FALSE(races.may_meet(65, 8, true));
  EXPECT_TRUE(races.touch(4092, 8, true, 2));
}

struct GroupSpansTest : ::testing::Test {
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer has the addresses of the maps";
#else
    if (!has_local_memory()) map_local_memory();
    areas.device = SharedArea::create("tandem-group-spans", kSpanCardBytes);
    areas.states = MemoryStates::create(kSpanCardBytes);
    const auto device = reinterpret_cast<uint64_t>(areas.device.data());
    areas.shadow = std::make_unique<DeviceShadow>(device, kSpanCardBytes, areas.states);
    areas.states.make_buffer(kSpanBuffer, kSpanBufferBytes, 0, false, {});
    buffer = device + kSpanBuffer;
    local = reinterpret_cast<uint64_t>(memory);
    RunChecks::Unit unit;
    unit.skip_mask = &skip_mask;
    unit.report = [this](const Finding& finding) { found.push_back(finding); };
    unit.num_units = [] { return size_t{1}; };
    checks = std::make_unique<RunChecks>(areas, std::move(unit));
    checks->begin_call({{"out", kSpanBuffer}});
    begin(1);
#endif
  }
  void TearDown() override {
    if (checks == nullptr) return;
    checks->end_call(true);
    checks.reset();
    forget(buffer - 64, buffer + kSpanBufferBytes + 64);
    forget(local, local + sizeof(memory));
    std::memset(value_states_of(local), 0, sizeof(memory));
  }
  void begin(uint64_t items) { checks->group().begin_group(items, {{local, sizeof(memory)}}); }
  bool is_good(const GroupChecks::Span& span) { return checks->group().is_good(span, nullptr); }
  void note(const GroupChecks::Span& span) { checks->group().note(span, nullptr); }
  void lose(uint64_t at, uint64_t size) { std::memset(value_states_of(at), 0xff, size); }
  bool has_value(uint64_t at, uint64_t size) { return are_zero(value_states_of(at), size); }
  static GroupChecks::Span load(uint64_t low, int64_t step, uint64_t turns) {
    return {low, 4, {{step, turns}, {}}, false, true};
  }
  static GroupChecks::Span store(uint64_t low, int64_t step, uint64_t turns) {
    return {low, 4, {{step, turns}, {}}, true, true};
  }

  alignas(64) unsigned char memory[4096] = {};
  CardAreas areas;
  uint64_t buffer = 0, local = 0, skip_mask = 0;
  std::vector<Finding> found;
  std::unique_ptr<RunChecks> checks;
};

TEST_F(GroupSpansTest, ALoopOverABufferMayStoreAndThenLoadAllOfIt) {
  EXPECT_FALSE(is_good(load(buffer, 4, 1023)));  // never written
  EXPECT_TRUE(is_good(store(buffer, 4, 1023)));
  EXPECT_FALSE(is_good(store(buffer, 4, 1024)));
  EXPECT_FALSE(is_good(store(buffer - 4, 4, 10)));
  note(store(buffer, 4, 511));
  EXPECT_TRUE(is_good(load(buffer, 4, 511)));
  EXPECT_FALSE(is_good(load(buffer, 4, 512)));
  EXPECT_TRUE(found.empty());
}

TEST_F(GroupSpansTest, AStepBackBeginsAtTheOtherEnd) {
  EXPECT_TRUE(is_good(store(buffer + 4092, -4, 1023)));
  EXPECT_FALSE(is_good(store(buffer + 4092, -4, 1024)));
  note(store(buffer + 4092, -4, 0));
  EXPECT_TRUE(is_good(load(buffer + 4092, 4, 0)));
  EXPECT_FALSE(is_good(load(buffer + 4088, 4, 0)));
}

TEST_F(GroupSpansTest, LocalMemoryMustHaveValuesWhereItIsRead) {
  lose(local + 64, 1);
  EXPECT_TRUE(is_good(load(local, 4, 15)));
  EXPECT_FALSE(is_good(load(local, 4, 16)));
  EXPECT_TRUE(is_good(load(local, 128, 31)));
  lose(local + 256 + 2, 1);
  EXPECT_FALSE(is_good(load(local, 128, 31)));
  EXPECT_TRUE(is_good(store(local, 4, 1023)));
  note(store(local, 128, 31));
  EXPECT_TRUE(has_value(local + 256, 4));
  EXPECT_FALSE(has_value(local + 64, 1));
  note(store(local, 4, 16));
  EXPECT_TRUE(has_value(local, 4096));
}

TEST_F(GroupSpansTest, TwoLoopsReachRows) {
  const GroupChecks::Span rows{local, 4, {{4, 3}, {64, 7}}, true, true};
  lose(local, 4096);
  EXPECT_TRUE(is_good(rows));
  note(rows);
  EXPECT_TRUE(has_value(local, 16));
  EXPECT_FALSE(has_value(local + 16, 1));
  EXPECT_TRUE(has_value(local + 7 * 64, 16));
  EXPECT_FALSE(has_value(local + 8 * 64, 1));
  // The order of the loops does not matter.
  EXPECT_TRUE(is_good({local, 4, {{64, 7}, {4, 3}}, false, true}));
  EXPECT_FALSE(is_good({local, 4, {{64, 7}, {4, 4}}, false, true}));
  const GroupChecks::Span columns{local, 4, {{128, 3}, {1024, 2}}, true, true};
  note(columns);
  EXPECT_TRUE(has_value(local + 2 * 1024 + 3 * 128, 4));
  EXPECT_FALSE(has_value(local + 2 * 1024 + 3 * 128 + 4, 1));
}

TEST_F(GroupSpansTest, AVariableEndsAtItsGuard) {
  shadow_of(local + 128) = -14;
  EXPECT_TRUE(is_good(load(local, 4, 31)));
  EXPECT_FALSE(is_good(load(local, 4, 32)));
  EXPECT_FALSE(is_good(load(local, 256, 3)));  // beyond the guard: another variable
  shadow_of(local + 120) = 4;
  EXPECT_TRUE(is_good(load(local, 4, 30)));
  EXPECT_FALSE(is_good(load(local, 4, 31)));
}

TEST_F(GroupSpansTest, WhatIsTooFarOrTooMuchIsLeftToSingleChecks) {
  EXPECT_FALSE(is_good(load(local, 4, ~uint64_t{0})));
  EXPECT_FALSE(is_good(load(local, int64_t{1} << 40, 1)));
  EXPECT_FALSE(is_good({local, 1, {{8, 8191}, {}}, false, true}));
  EXPECT_FALSE(is_good(load(8, 4, 1)));
  EXPECT_FALSE(is_good(load(buffer - 8, 4, 8)));
}

TEST_F(GroupSpansTest, ItemsThatWouldMeetKeepTheirChecks) {
  begin(4);
  checks->group().set_item(0);
  EXPECT_TRUE(is_good(store(local, 4, 15)));
  note(store(local, 4, 15));
  checks->group().set_item(1);
  EXPECT_TRUE(is_good(load(local + 64, 4, 15)));
  EXPECT_FALSE(is_good(load(local + 32, 4, 15)));
  GroupChecks::Span unsure = load(local + 64, 4, 15);
  unsure.is_whole = false;
  EXPECT_FALSE(is_good(unsure));
  note(load(local + 64, 4, 15));
  checks->group().set_item(2);
  EXPECT_FALSE(is_good(store(local + 124, 4, 3)));
  EXPECT_TRUE(is_good(store(local + 128, 4, 3)));
  checks->group().end_interval();
  EXPECT_TRUE(is_good(store(local, 4, 15)));
  EXPECT_TRUE(found.empty());
}

TEST_F(GroupSpansTest, AStoreThatIsNotSureNeedsBytesThatNeedNoNote) {
  GroupChecks::Span unsure = store(local, 4, 15);
  unsure.is_whole = false;
  EXPECT_TRUE(is_good(unsure));
  lose(local + 60, 4);
  EXPECT_FALSE(is_good(unsure));
}

}  // namespace
}  // namespace tandem::emulation
