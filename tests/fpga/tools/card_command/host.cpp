// SPDX-License-Identifier: Apache-2.0
//
// host XCLBIN BUG [CODE]: one run of the kernel; ends with CODE (0) if it completed, else with 3.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  xrt::device device(0);
  xrt::kernel crossed(device, device.load_xclbin(argv[1]), "crossed");
  constexpr int kCount = 48;
  xrt::bo in(device, 4096, crossed.group_id(0)), out(device, 4096, crossed.group_id(1));
  for (int i = 0; i < kCount; ++i) in.map<int*>()[i] = i;
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  const auto state = crossed(in, out, std::atoi(argv[2])).wait(std::chrono::seconds(40));
  if (state != ERT_CMD_STATE_COMPLETED) return 3;
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (int i = 0; i < kCount; ++i) {
    if (out.map<int*>()[i] != 2 * i) return 4;
  }
  std::printf("RAN\n");
  return argc > 3 ? std::atoi(argv[3]) : 0;
}
