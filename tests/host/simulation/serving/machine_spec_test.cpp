// SPDX-License-Identifier: Apache-2.0
//
// Devices from a line of text.
#include "simulation/serving/machine_spec.h"

#include <gmock/gmock.h>

#include "host/simulation/serving/message_of.h"

namespace tandem::simulation {
namespace {

using ::testing::HasSubstr;

TEST(MachineSpec, ReadsGroupsUnitsLinksAndServers) {
  const MachineSpec machine = parse_machine("8x(2*h100-sxm/nvlink4+4*u55c+cpu:200@host+a100:40)");
  EXPECT_EQ(machine.num_servers, 8);
  EXPECT_EQ(machine.compute.sheet.name, "h100-sxm");
  EXPECT_EQ(machine.compute.count, 2);
  EXPECT_EQ(machine.compute.peers.name, "nvlink4");
  ASSERT_EQ(machine.units.size(), 3u);
  EXPECT_EQ(machine.units[0].count, 4);
  EXPECT_EQ(machine.units[0].link.name, "pcie4x8") << "its usual one";
  EXPECT_EQ(machine.units[1].link.name, "host");
  EXPECT_DOUBLE_EQ(machine.units[1].sheet.bytes_per_s, 200e9);
  EXPECT_DOUBLE_EQ(machine.units[2].sheet.memory_bytes, 40e9);
  EXPECT_EQ(machine.num_devices(), 8 * (2 + 4 + 1 + 1));
}

TEST(MachineSpec, OfOneDeviceIsItsName) {
  const MachineSpec machine = parse_machine("l40s");
  EXPECT_EQ(machine.num_devices(), 1);
  EXPECT_EQ(machine.compute.sheet.bytes_per_s, 864e9);
  EXPECT_EQ(parse_machine("h100-sxm+4*h20@400gbe").units[0].link.name, "400gbe");
}

TEST(MachineSpec, SaysWhatIsWrong) {
  const auto refusal = [](const char* text) { return message_of([&] { parse_machine(text); }); };
  EXPECT_THAT(refusal(""), HasSubstr("no device"));
  EXPECT_THAT(refusal("l40x"), HasSubstr("did you mean l40s?"));
  EXPECT_THAT(refusal("l40s+u55"), HasSubstr("did you mean u55c?"));
  EXPECT_THAT(refusal("l40s+u55c@pcie4x"), HasSubstr("did you mean pcie4x"));
  EXPECT_THAT(refusal("u55c+l40s"), HasSubstr("which a card cannot"));
  EXPECT_THAT(refusal("0*l40s"), HasSubstr("1 to"));
  EXPECT_THAT(refusal("10001x(l40s)"), HasSubstr("1 to 10000"));
  EXPECT_THAT(refusal("l40s@pcie4x8"), HasSubstr("after /"));
  EXPECT_THAT(refusal("l40s+u55c/nvlink4"), HasSubstr("after @"));
  EXPECT_THAT(refusal("l40s:much"), HasSubstr("memory in GB"));
  EXPECT_THAT(refusal("(l40s)"), HasSubstr("8x("));
  EXPECT_THAT(refusal("9999x(l40s+u55c)"), HasSubstr("19998 devices are too many"));
  EXPECT_THAT(refusal("9999x(9999*l40s)"), HasSubstr("99980001 devices are too many"));
  EXPECT_THAT(refusal("l40s:1e300"), HasSubstr("at most 1e6"));
  EXPECT_THAT(refusal("l40s+cpu:1e300"), HasSubstr("at most 1e6"));
  EXPECT_THAT(refusal("l40s+"), HasSubstr("a device is missing before or after '+'"));
  EXPECT_THAT(refusal("2x(+u55c)"), HasSubstr("a device is missing before or after '+'"));
}

}  // namespace
}  // namespace tandem::simulation
