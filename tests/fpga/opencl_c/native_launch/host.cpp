// SPDX-License-Identifier: Apache-2.0
//
// Exercises: an OpenCL C kernel started through the native interface, where it runs one work-item.
#include <experimental/xrt_bo.h>
#include <experimental/xrt_device.h>
#include <experimental/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

void pass(const Arguments& arguments) {
  constexpr int kCount = 1000;
  xrt::device device(0);
  const xrt::uuid uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel kernel(device, uuid, "accumulate");
  xrt::bo in(device, kCount * sizeof(int), kernel.group_id(0));
  xrt::bo out(device, 2 * sizeof(int), kernel.group_id(1));
  int* const values = in.map<int*>();
  for (int i = 0; i < kCount; ++i) values[i] = i * 3;
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  for (int round = 0; round < 3; ++round) {
    xrt::run run = kernel(in, out, kCount);
    CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  }
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(out.map<int*>()[0], 3 * kCount * (kCount - 1) / 2);
  CHECK_EQ(out.map<int*>()[1], 111);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, pass); }
