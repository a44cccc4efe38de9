// SPDX-License-Identifier: Apache-2.0
//
// idle XCLBIN: opens a card, runs vadd once, tells the card's user, and waits for the end of its
// standard input.
#include <unistd.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstdio>
#include <vector>

int main(int, char** arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments[1]);
  xrt::kernel kernel(device, uuid, "vadd");
  std::vector<xrt::bo> buffers;
  for (int index = 0; index < 3; ++index) {
    buffers.emplace_back(device, 4096, kernel.group_id(index));
    buffers.back().sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  kernel(buffers[0], buffers[1], buffers[2], 16).wait();
  std::printf("%d\n", getpid());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}
