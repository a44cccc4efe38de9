// SPDX-License-Identifier: Apache-2.0
//
// The same kernel built for hw_emu on a card with DDR: its banks are real, its factor another.
#include <experimental/xrt_bo.h>
#include <experimental/xrt_device.h>
#include <experimental/xrt_kernel.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

TEST(HwEmuTest, ResultsComeFromTheOtherBank) {
  xrt::device device(0);
  EXPECT_NE(device.get_info<xrt::info::device::name>().find("u280"), std::string::npos);
  const xrt::uuid uuid = device.load_xclbin(std::getenv("TANDEM_XCLBIN_SCALE_HW_EMU"));
  xrt::kernel kernel(device, uuid, "vscale");
  EXPECT_NE(kernel.group_id(0), kernel.group_id(1));
  xrt::bo in(device, 16, kernel.group_id(0));
  xrt::bo out(device, 16, kernel.group_id(1));
  in.map<int*>()[3] = -9;
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  ASSERT_EQ(kernel(in, out, 4).wait(), ERT_CMD_STATE_COMPLETED);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  EXPECT_EQ(out.map<int*>()[3], -45);
}

TEST(HwEmuTest, EachXclbinHasAVariable) {
  EXPECT_EQ(std::string(std::getenv("TANDEM_XCLBIN")), std::getenv("TANDEM_XCLBIN_SCALE_HW_EMU"));
  EXPECT_NE(std::string(std::getenv("TANDEM_XCLBIN_SCALE")), std::getenv("TANDEM_XCLBIN"));
}

}  // namespace
