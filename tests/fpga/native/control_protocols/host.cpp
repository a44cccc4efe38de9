// SPDX-License-Identifier: Apache-2.0
//
// Exercises: ap_ctrl_chain and ap_ctrl_hs kernels of one bitstream, side by side.
#include <experimental/xrt_xclbin.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;
using Control = xrt::xclbin::ip::control_type;

namespace {

constexpr uint32_t kSize = 300;

void run(xrt::device& device, xrt::kernel kernel) {
  xrt::bo data(device, kSize * 4, kernel.group_id(0));
  for (uint32_t i = 0; i < kSize; ++i) data.map<uint32_t*>()[i] = i;
  data.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  std::vector<xrt::run> runs;
  for (uint32_t mask : {0x1u, 0x20u, 0x300u}) runs.push_back(kernel(data, kSize, mask));
  for (auto& launch : runs) CHECK_EQ(launch.wait(), ERT_CMD_STATE_COMPLETED);
  data.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (uint32_t i = 0; i < kSize; ++i) CHECK_EQ(data.map<uint32_t*>()[i], i ^ 0x321u);
}

void protocols(const Arguments& arguments) {
  const xrt::xclbin xclbin(arguments.xclbin);
  CHECK(xclbin.get_ip("chained:chained_1").get_control_type() == Control::chain);
  CHECK(xclbin.get_ip("shaken:shaken_1").get_control_type() == Control::hs);
  xrt::device device(0);
  const auto uuid = device.load_xclbin(xclbin);
  run(device, xrt::kernel(device, uuid, "chained"));
  run(device, xrt::kernel(device, uuid, "shaken"));
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, protocols); }
