// SPDX-License-Identifier: Apache-2.0
//
// Exercises: hls::vector in ports, operators with a scalar, a reduction.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kBeats = 100, kLanes = 16;

// Whole numbers, so that sums are exact in any order.
void axpy(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel kernel(device, uuid, "axpy");
  const size_t bytes = kBeats * kLanes * 4;
  xrt::bo a(device, bytes, kernel.group_id(0)), b(device, bytes, kernel.group_id(1)),
      out(device, bytes, kernel.group_id(2)), sums(device, kBeats * 4, kernel.group_id(3));
  auto* x = a.map<float*>();
  auto* y = b.map<float*>();
  for (int i = 0; i < kBeats * kLanes; ++i) {
    x[i] = static_cast<float>(i % 37 - 18);
    y[i] = static_cast<float>(i % 101);
  }
  a.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  b.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto run = kernel(a, b, out, sums, 3.0f, kBeats);
  CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  sums.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (int beat = 0; beat < kBeats; ++beat) {
    float sum = 0;
    for (int i = beat * kLanes; i < (beat + 1) * kLanes; ++i) {
      CHECK_EQ(out.map<float*>()[i], 3 * x[i] + y[i]);
      sum += 3 * x[i] + y[i];
    }
    CHECK_EQ(sums.map<float*>()[beat], sum);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, axpy); }
