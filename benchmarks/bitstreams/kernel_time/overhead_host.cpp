// SPDX-License-Identifier: Apache-2.0
//
// overhead_host XCLBIN KERNEL N: one run over N elements. Prints the seconds from the launch to the
// end of the wait, and the monotonic clock then, in nanoseconds.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

int main(int, char** arguments) {
  using Clock = std::chrono::steady_clock;
  const int count = std::atoi(arguments[3]);
  xrt::device device(0);
  const auto uuid = device.load_xclbin(std::string(arguments[1]));
  xrt::kernel kernel(device, uuid, arguments[2]);
  std::vector<xrt::bo> buffers;
  for (int index = 0; index < 3; ++index) {
    buffers.emplace_back(device, static_cast<size_t>(count) * 4, kernel.group_id(index));
    std::memset(buffers.back().map<char*>(), 0, static_cast<size_t>(count) * 4);
    buffers.back().sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  const auto begin = Clock::now();
  auto run = kernel(buffers[0], buffers[1], buffers[2], count);
  if (run.wait() != ERT_CMD_STATE_COMPLETED) return 1;
  const auto end = Clock::now();
  std::printf(
      "%.6f %lld\n", std::chrono::duration<double>(end - begin).count(),
      static_cast<long long>(
          std::chrono::duration_cast<std::chrono::nanoseconds>(end.time_since_epoch()).count()));
}
