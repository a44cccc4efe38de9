// SPDX-License-Identifier: Apache-2.0
//
// Two linked kernels that map every value v to 3 v + 1, exact in half up to 2048.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kCount = 1000;

void map_values(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel produce(device, uuid, "produce"), consume(device, uuid, "consume");
  xrt::bo in(device, kCount * sizeof(int), produce.group_id(0));
  xrt::bo out(device, kCount * sizeof(int), consume.group_id(0));
  for (int i = 0; i < kCount; ++i) in.map<int*>()[i] = i - 500;
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  xrt::run first(produce), second(consume);
  first.set_arg(0, in);
  first.set_arg(2, kCount);
  second.set_arg(0, out);
  second.set_arg(2, kCount);
  first.start();
  second.start();
  CHECK_EQ(first.wait(std::chrono::seconds(40)), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(second.wait(std::chrono::seconds(40)), ERT_CMD_STATE_COMPLETED);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  int wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += out.map<int*>()[i] == 3 * (i - 500) + 1 ? 0 : 1;
  CHECK_EQ(wrong, 0);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, map_values); }
