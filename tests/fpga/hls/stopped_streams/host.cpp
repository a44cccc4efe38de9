// SPDX-License-Identifier: Apache-2.0
//
// Exercises: a kernel that waits for a stream is not a deadlock while its other end may still
// start. An abort frees its unit, and a card whose units wait can be closed and used again.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;
using namespace std::chrono_literals;

namespace {

constexpr int kCount = 100;

void waits(const std::string& xclbin) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(xclbin);
  xrt::kernel give(device, uuid, "give"), take(device, uuid, "take");
  xrt::bo out(device, kCount * sizeof(int), take.group_id(0));
  xrt::run taking(take);
  taking.set_arg(0, out);
  taking.set_arg(1, kCount);
  taking.start();
  CHECK_EQ(taking.wait(200ms), ERT_CMD_STATE_TIMEOUT);
  CHECK_EQ(taking.abort(), ERT_CMD_STATE_ABORT);
  for (int round = 0; round < 2; ++round) {
    taking.start();
    CHECK_EQ(taking.wait(50ms), ERT_CMD_STATE_TIMEOUT);
    xrt::run giving(give);
    giving.set_arg(0, kCount);
    giving.set_arg(1, 1000 * round);
    giving.start();
    CHECK_EQ(giving.wait(20s), ERT_CMD_STATE_COMPLETED);
    CHECK_EQ(taking.wait(20s), ERT_CMD_STATE_COMPLETED);
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    for (int i = 0; i < kCount; ++i) CHECK_EQ(out.map<int*>()[i], 1000 * round + i);
  }
  taking.start();  // and is left waiting
  CHECK_EQ(taking.wait(20ms), ERT_CMD_STATE_TIMEOUT);
  CHECK_EQ(taking.abort(), ERT_CMD_STATE_ABORT);
}

void stopped(const Arguments& arguments) {
  for (int opening = 0; opening < 2; ++opening) waits(arguments.xclbin);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, stopped); }
