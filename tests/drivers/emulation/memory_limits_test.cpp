// SPDX-License-Identifier: Apache-2.0
//
// Large buffers, full banks, user memory and many compute units.
#include <experimental/xrt-next.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <vector>

#include "emulated_cards.h"
#include "shim_functions.h"

namespace tandem::emulation_test {
namespace {

using testing::HasSubstr;

constexpr uint64_t kGib = uint64_t{1} << 30;

bool software_emulation() {
  const char* mode = std::getenv("XCL_EMULATION_MODE");
  return mode != nullptr && std::string(mode) == "sw_emu";
}

TEST(LargeBuffer, OfFiveGibIsReachedByKernelsAndSync) {
  setenv("XCL_EMULATION_MODE", "sw_emu", 1);  // one bank of a U55C has half a gibibyte
  TrialCard card;
  xrt::bo large(card.device, 5 * kGib, card.kernel.group_id(2));
  xrt::bo end(large, 4096, 5 * kGib - 4096);
  auto run = card.kernel(static_cast<uint32_t>(kWrite), 91u, end);
  ASSERT_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  large.sync(XCL_BO_SYNC_BO_FROM_DEVICE, 4096, 5 * kGib - 4096);
  EXPECT_EQ(large.map<uint32_t*>()[(5 * kGib - 4096) / 4], 91u);
}

TEST(FullBank, IsNamedInOneMessage) {
  if (software_emulation()) GTEST_SKIP() << "software emulation has no banks";
  TrialCard card;
  xrt::bo most(card.device, 500 << 20, xrt::bo::flags::device_only, card.kernel.group_id(2));
  testing::internal::CaptureStderr();
  EXPECT_THROW(xrt::bo(card.device, 16 << 20, xrt::bo::flags::device_only, card.kernel.group_id(2)),
               std::exception);
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_THAT(report, HasSubstr("bank HBM[3] of card 0"));
  EXPECT_THAT(report, HasSubstr("no room for a buffer of 16777216 bytes"));
  EXPECT_EQ(report.find("[TANDEM]"), report.rfind("[TANDEM]"));
}

TEST(FullCard, IsNamedInOneMessage) {
  setenv("XCL_EMULATION_MODE", "sw_emu", 1);
  TrialCard card;
  testing::internal::CaptureStderr();
  EXPECT_THROW(
      xrt::bo(card.device, uint64_t{1} << 50, xrt::bo::flags::device_only, card.kernel.group_id(2)),
      std::exception);
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_THAT(report, HasSubstr("the memory of card 0"));
  EXPECT_EQ(report.find("[TANDEM]"), report.rfind("[TANDEM]"));
}

TEST(UserMemory, ThatIsMisalignedIsRefused) {
  TrialCard card;
  std::vector<char> memory(3 * 4096);
  char* aligned = memory.data() + 4096 - reinterpret_cast<uintptr_t>(memory.data()) % 4096;
  EXPECT_THROW(xrt::bo(card.device, aligned + 8, 4096, card.kernel.group_id(2)), std::exception);
  testing::internal::CaptureStderr();
  const auto handle = static_cast<xclDeviceHandle>(card.device);
  EXPECT_EQ(TANDEM_SHIM(xclAllocUserPtrBO)(handle, aligned + 8, 4096, 0), XRT_NULL_BO);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("multiple of 4096"));
  EXPECT_NO_THROW(xrt::bo(card.device, aligned, 4096, card.kernel.group_id(2)));
}

TEST(DeviceOnlyBuffer, HasNoHostCopy) {
  TrialCard card;
  xrt::bo buffer(card.device, 4096, xrt::bo::flags::device_only, card.kernel.group_id(2));
  EXPECT_THROW(buffer.map(), std::exception);
  auto run = card.kernel(static_cast<uint32_t>(kWrite), 5u, buffer);
  ASSERT_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  card.out.copy(buffer, 4096, 0, 0);
  EXPECT_EQ(card.fetch()[0], 5u);
}

TEST(ManyUnits, AHundredAndTwentySixEachRunTheirOwnCommands) {
  xrt::device device(0u);
  const auto uuid = device.load_xclbin(std::string(TANDEM_TEST_XCLBIN_DIR "/many_units.xclbin"));
  xrt::kernel all(device, uuid, "trial");
  std::vector<xrt::bo> outs;
  std::vector<xrt::run> runs;
  for (uint32_t unit = 0; unit < 126; ++unit) {
    outs.emplace_back(device, 4096, all.group_id(2));
    xrt::kernel one(device, uuid, "trial:{trial_" + std::to_string(unit + 1) + "}");
    runs.push_back(one(static_cast<uint32_t>(kWrite), 500 + unit, outs.back()));
  }
  for (uint32_t unit = 0; unit < 126; ++unit) {
    ASSERT_EQ(runs[unit].wait(), ERT_CMD_STATE_COMPLETED);
    outs[unit].sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    EXPECT_EQ(outs[unit].map<uint32_t*>()[0], 500 + unit);
    EXPECT_EQ(outs[unit].map<uint32_t*>()[1], 1u) << "the first launch of its unit";
  }
}

TEST(ManyUnits, AllGetNewArgumentsWhileTheyRun) {
  xrt::device device(0u);
  const auto uuid = device.load_xclbin(std::string(TANDEM_TEST_XCLBIN_DIR "/many_units.xclbin"));
  const auto handle = static_cast<xclDeviceHandle>(device);
  std::vector<xrt::run> runs;  // XRT keeps a command for updates per address of a run
  for (const uint32_t number : {1u, 32u, 33u, 100u, 126u}) {
    const std::string name = "trial_" + std::to_string(number);
    xrt::kernel kernel(device, uuid, "trial:{" + name + "}");
    xrt::bo out(device, 4096, kernel.group_id(2));
    runs.push_back(kernel(static_cast<uint32_t>(kWrite), 1u, out));
    ASSERT_EQ(runs.back().wait(), ERT_CMD_STATE_COMPLETED);
    runs.back().update_arg(1, 0x12345600u + number);
    const int unit = TANDEM_SHIM(xclIPName2Index)(handle, ("trial:" + name).c_str());
    uint32_t value = 0;
    ASSERT_EQ(TANDEM_SHIM(xclRegRead)(handle, static_cast<uint32_t>(unit), 0x18, &value), 0);
    EXPECT_EQ(value, 0x12345600u + number) << name;
  }
}

TEST(ManyUnits, ShareTheCommandsOfOneKernel) {
  xrt::device device(0u);
  const auto uuid = device.load_xclbin(std::string(TANDEM_TEST_XCLBIN_DIR "/many_units.xclbin"));
  xrt::kernel all(device, uuid, "trial");
  std::vector<xrt::bo> outs;
  std::vector<xrt::run> runs;
  for (uint32_t command = 0; command < 126; ++command) {
    outs.emplace_back(device, 4096, all.group_id(2));
    outs.back().map<uint32_t*>()[2] = 0;
    outs.back().sync(XCL_BO_SYNC_BO_TO_DEVICE);
    runs.push_back(all(static_cast<uint32_t>(kSleepUntilFlag), 1u, outs.back()));
  }
  // No command ends before all have a unit. A sync of more than the flag could overwrite what a
  // kernel writes once it has seen the flag.
  for (xrt::bo& out : outs) {
    out.map<uint32_t*>()[2] = 1;
    out.sync(XCL_BO_SYNC_BO_TO_DEVICE, sizeof(uint32_t), 2 * sizeof(uint32_t));
  }
  for (uint32_t command = 0; command < 126; ++command) {
    ASSERT_EQ(runs[command].wait(), ERT_CMD_STATE_COMPLETED);
    outs[command].sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    EXPECT_EQ(outs[command].map<uint32_t*>()[1], 1u) << "each unit had one of them";
  }
}

}  // namespace
}  // namespace tandem::emulation_test
