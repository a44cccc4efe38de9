// SPDX-License-Identifier: Apache-2.0
//
// Compute units in the order in which XRT numbers them.
#include "emulation/xrt_shim/card/unit_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tandem::emulation {
namespace {

using testing::ElementsAre;

constexpr uint64_t kNoRegisters = ~uint64_t{0};

struct Unit {
  const char* name;
  uint64_t base;
  uint32_t interrupt_id;
};

std::vector<std::string> order_of(std::initializer_list<Unit> units) {
  std::vector<xclbin::ComputeUnit> sorted;
  for (const Unit& unit : units) {
    sorted.push_back({"kernel", unit.name, unit.base, unit.interrupt_id});
  }
  sort_units(sorted);
  std::vector<std::string> names;
  for (const xclbin::ComputeUnit& unit : sorted) names.push_back(unit.name);
  return names;
}

TEST(UnitOrder, IsThatOfTheInterruptIds) {
  EXPECT_THAT(order_of({{"a", 0x1000, 2}, {"b", 0x2000, 0}, {"c", 0x3000, 1}}),
              ElementsAre("b", "c", "a"));
}

TEST(UnitOrder, IsThatOfTheAddressesWhereNoUnitHasAnInterruptId) {
  EXPECT_THAT(order_of({{"a", 0x3000, 0}, {"b", 0x1000, 0}, {"c", 0x2000, 0}}),
              ElementsAre("b", "c", "a"));
}

TEST(UnitOrder, FreeRunningUnitsComeLastInTheOrderOfTheFile) {
  EXPECT_THAT(order_of({{"z", kNoRegisters, 0}, {"y", kNoRegisters, 0}, {"a", 0x1000, 1}}),
              ElementsAre("a", "z", "y"));
  EXPECT_THAT(order_of({{"z", kNoRegisters, 0}, {"a", 0x2000, 0}, {"b", 0x1000, 0}}),
              ElementsAre("b", "a", "z"));
  EXPECT_THAT(order_of({{"z", kNoRegisters, 3}, {"a", 0x1000, 7}, {"b", 0x2000, 5}}),
              ElementsAre("b", "a", "z"));
}

TEST(UnitOrder, UnitsWithOneInterruptIdKeepTheOrderOfTheFile) {
  EXPECT_THAT(order_of({{"b", 0x2000, 1}, {"a", 0x1000, 1}}), ElementsAre("b", "a"));
}

}  // namespace
}  // namespace tandem::emulation
