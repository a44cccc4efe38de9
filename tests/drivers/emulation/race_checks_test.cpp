// SPDX-License-Identifier: Apache-2.0
//
// What two units report of a race, by the order of their commands.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "emulation/card/checks/local_memory.h"
#include "emulation/card/checks/run_checks.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kRacedBytes = 1 << 20;
constexpr uint64_t kRacedBuffer = 4096;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
bool has_maps() { return false; }  // theirs use the same addresses
#else
bool has_maps() {
  if (!has_local_memory()) map_local_memory();
  return true;
}
#endif

struct RaceChecks : ::testing::Test {
  void SetUp() override {
    if (!has_maps()) GTEST_SKIP() << "a sanitizer has the addresses";
    areas.device = SharedArea::create("tandem-race-checks", kRacedBytes);
    areas.states = MemoryStates::create(kRacedBytes);
    device = reinterpret_cast<uint64_t>(areas.device.data());
    areas.shadow = std::make_unique<DeviceShadow>(device, kRacedBytes, areas.states);
    areas.races = std::make_unique<RaceMap>(kRacedBytes);
    areas.states.make_buffer(kRacedBuffer, 4096, 0, true, {});
    for (uint32_t index = 0; index < 2; ++index) units[index] = make(index, false);
  }
  void TearDown() override {
    if (units[0] != nullptr) forget(device - 64, device + kRacedBytes + 64);
  }
  std::unique_ptr<RunChecks> make(uint32_t index, bool linked) {
    RunChecks::Unit unit;
    unit.index = index;
    unit.linked = linked;
    unit.skip_mask = &skip_masks[index];
    unit.report = [this](const Finding& finding) { told.push_back(finding); };
    unit.num_units = [] { return size_t{2}; };
    unit.other = [](uint32_t other) {
      return std::make_pair("unit_" + std::to_string(other), CodeRange());
    };
    unit.raced = [this](uint32_t other, uint32_t call) { raced.emplace_back(other, call); };
    return std::make_unique<RunChecks>(areas, std::move(unit));
  }
  void begin(uint32_t unit, const StartOrder& order) {
    units[unit]->begin_command(order);
    units[unit]->begin_call({{"data", kRacedBuffer}});
  }
  void store(uint32_t unit, uint64_t offset) {
    units[unit]->store(device + kRacedBuffer + offset, 4, &units[unit]);
  }
  void load(uint32_t unit, uint64_t offset) {
    units[unit]->load(device + kRacedBuffer + offset, 4, &units[unit]);
  }
  // What was over at the start of a command: of unit 0 its first `calls`.
  static StartOrder after(uint32_t calls) {
    StartOrder order;
    order.is_known = true;
    order.over[0] = calls;
    return order;
  }

  CardAreas areas;
  uint64_t device = 0;
  std::array<uint64_t, 2> skip_masks{};
  std::vector<Finding> told;
  std::vector<std::pair<uint32_t, uint32_t>> raced;  // units and calls
  std::array<std::unique_ptr<RunChecks>, 2> units;
};

TEST_F(RaceChecks, ARunThatIsOverIsNamedIfTheProgramDidNotKnow) {
  begin(0, after(0));
  EXPECT_EQ(units[0]->call_number(), 1u);
  store(0, 8);
  units[0]->end_call(true);
  begin(1, after(0));
  load(1, 4);
  EXPECT_TRUE(told.empty());
  load(1, 8);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].kind, "race");
  EXPECT_EQ(told[0].argument, "data");
  EXPECT_NE(told[0].message.find("reads bytes that unit 'unit_0' wrote in a run without an order"),
            std::string::npos)
      << told[0].message;
  EXPECT_TRUE(units[1]->any_found());
  using Call = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(raced, (std::vector<Call>{{0, 1}, {1, 1}}));
  units[1]->end_call(true);
}

TEST_F(RaceChecks, ARunThatWasKnownToBeOverIsNone) {
  begin(0, after(0));
  store(0, 8);
  units[0]->end_call(true);
  begin(1, after(1));
  store(1, 8);
  EXPECT_TRUE(told.empty());
  units[1]->end_call(true);
}

// As on a shared card.
TEST_F(RaceChecks, WithoutAnOrderOnlyRunsAtTheSameTimeCount) {
  begin(0, {});
  store(0, 8);
  store(0, 16);
  begin(1, {});
  store(1, 8);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].message.find("writes bytes that unit 'unit_0' writes in the same time"),
            std::string::npos)
      << told[0].message;
  units[0]->end_call(true);
  store(1, 16);
  EXPECT_EQ(told.size(), 1u);
  units[1]->end_call(true);
}

TEST_F(RaceChecks, AnOrderIsThatOfOneCommand) {
  begin(0, after(0));
  store(0, 8);
  units[0]->end_call(true);
  begin(1, after(0));
  units[1]->end_call(true);
  begin(1, {});
  load(1, 8);
  EXPECT_TRUE(told.empty());
  units[1]->end_call(true);
}

TEST_F(RaceChecks, OneOfTheUnitsTellsARace) {
  begin(0, after(0));
  begin(1, after(0));
  store(0, 8);
  store(1, 8);
  EXPECT_EQ(told.size(), 1u);
  store(1, 64);
  store(0, 64);
  EXPECT_EQ(told.size(), 1u);
  EXPECT_TRUE(units[0]->any_found()) << "it fails with strict checks, too";
  for (const auto& unit : units) unit->end_call(true);
  areas.states.free_buffer(kRacedBuffer, 4096);
  areas.states.make_buffer(kRacedBuffer, 4096, 0, true, {});
  for (uint32_t unit : {0u, 1u}) begin(unit, after(1));
  store(0, 128);
  store(1, 128);
  EXPECT_EQ(told.size(), 2u) << "of another buffer";
  for (const auto& unit : units) unit->end_call(true);
}

TEST_F(RaceChecks, AnotherUnitCouldHaveHadTheRun) {
  StartOrder order = after(0);
  order.may_move = true;
  begin(0, order);
  store(0, 8);
  units[0]->end_call(true);
  begin(0, order);
  load(0, 8);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].message.find("at the same time, in different units"), std::string::npos)
      << told[0].message;
  units[0]->end_call(true);
}

TEST_F(RaceChecks, CallsOfLinkedUnitsAreNotCounted) {
  units[0] = make(0, true);
  begin(0, after(0));
  store(0, 8);
  EXPECT_EQ(units[0]->call_number(), 0u);
  units[0]->end_call(true);
  begin(1, after(0));
  load(1, 8);
  EXPECT_TRUE(told.empty());
  units[1]->end_call(true);
}

}  // namespace
}  // namespace tandem::emulation
