// SPDX-License-Identifier: Apache-2.0
//
// host XCLBIN MOST: clips 0 to 9. It ends without closing the card.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int, char** arguments) {
  constexpr int kCount = 10;
  const int most = std::atoi(arguments[2]);
  xrt::device device(0);
  const auto uuid = device.load_xclbin(std::string(arguments[1]));
  xrt::kernel kernel(device, uuid, "clipped");
  xrt::bo in(device, kCount * 4, kernel.group_id(0)), out(device, kCount * 4, kernel.group_id(1));
  for (int index = 0; index < kCount; ++index) in.map<int*>()[index] = index;
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto run = kernel(in, out, kCount, most);
  if (run.wait() != ERT_CMD_STATE_COMPLETED) return 1;
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (int index = 0; index < kCount; ++index) {
    if (out.map<int*>()[index] != std::min(index, most)) return 1;
  }
  std::puts("RAN");
  std::fflush(stdout);
  _exit(0);
}
