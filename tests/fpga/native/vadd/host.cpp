// SPDX-License-Identifier: Apache-2.0
//
// Exercises: the plain life of a native program - device, xclbin from a file, kernel, buffers in
// the arguments' banks, run, results.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr uint32_t kSize = 1000;

void add(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  CHECK(device.get_xclbin_uuid() == uuid);
  xrt::kernel vadd(device, uuid, "vadd");
  xrt::bo a(device, kSize * 4, vadd.group_id(0));
  xrt::bo b(device, kSize * 4, vadd.group_id(1));
  xrt::bo out(device, kSize * 4, vadd.group_id(2));
  auto* a_values = a.map<int32_t*>();
  auto* b_values = b.map<int32_t*>();
  for (uint32_t i = 0; i < kSize; ++i) {
    a_values[i] = static_cast<int32_t>(i);
    b_values[i] = static_cast<int32_t>(3 * i);
  }
  a.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  b.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto run = vadd(a, b, out, kSize);
  CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const auto* sums = out.map<int32_t*>();
  for (uint32_t i = 0; i < kSize; ++i) CHECK_EQ(sums[i], static_cast<int32_t>(4 * i));
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, add); }
