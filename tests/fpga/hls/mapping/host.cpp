// SPDX-License-Identifier: Apache-2.0
//
// For kernels f(in, out, count) that map every value v to scale * v + offset. Arguments: the
// kernel's name, scale, offset. Launches twice, so that state left by the first launch shows.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kCount = 3000;

void map_values(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel kernel(device, uuid, arguments.rest.at(0));
  const int scale = std::stoi(arguments.rest.at(1)), offset = std::stoi(arguments.rest.at(2));
  xrt::bo in(device, kCount * sizeof(int), kernel.group_id(0));
  xrt::bo out(device, kCount * sizeof(int), kernel.group_id(1));
  int* const values = in.map<int*>();
  int* const results = out.map<int*>();
  for (int launch = 0; launch < 2; ++launch) {
    for (int i = 0; i < kCount; ++i) {
      values[i] = 7 * i + launch;
      results[i] = -1;
    }
    in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    auto run = kernel(in, out, kCount);
    CHECK_EQ(run.wait(std::chrono::seconds(40)), ERT_CMD_STATE_COMPLETED);
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    int wrong = 0;
    for (int i = 0; i < kCount; ++i) wrong += results[i] == scale * values[i] + offset ? 0 : 1;
    CHECK_EQ(wrong, 0);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, map_values); }
