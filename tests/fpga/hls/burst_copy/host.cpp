// SPDX-License-Identifier: Apache-2.0
//
// Exercises: hls::burst_maxi as a kernel's argument, several requests under way.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kBlocks = 61, kBlock = 32;

void gather(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel kernel(device, uuid, "gather");
  const size_t bytes = kBlocks * kBlock * 8;
  xrt::bo in(device, bytes, kernel.group_id(0)), order(device, kBlocks * 4, kernel.group_id(1)),
      out(device, bytes, kernel.group_id(2));
  auto* from = in.map<uint64_t*>();
  auto* blocks = order.map<int32_t*>();
  for (int i = 0; i < kBlocks * kBlock; ++i) from[i] = 0x9e3779b97f4a7c15ull * (i + 1);
  for (int i = 0; i < kBlocks; ++i) blocks[i] = i * 17 % kBlocks;
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  order.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto run = kernel(in, order, out, kBlocks);
  CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const auto* to = out.map<uint64_t*>();
  for (int i = 0; i < kBlocks * kBlock; ++i) {
    CHECK_EQ(to[i], from[blocks[i / kBlock] * kBlock + i % kBlock] + 1);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, gather); }
