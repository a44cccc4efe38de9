// SPDX-License-Identifier: Apache-2.0
//
// host XCLBIN KERNEL COUNT RUNS: the median of the times of RUNS runs, in microseconds.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

int main(int, char** arguments) {
  const int count = std::atoi(arguments[3]);
  const int runs = std::atoi(arguments[4]);
  xrt::device device(0);
  const auto uuid = device.load_xclbin(std::string(arguments[1]));
  xrt::kernel kernel(device, uuid, arguments[2]);
  std::vector<xrt::bo> buffers;
  for (int index = 0; index < 2; ++index) {
    buffers.emplace_back(device, static_cast<size_t>(count) * 4, kernel.group_id(index));
    int* const values = buffers.back().map<int*>();
    for (int at = 0; at < count; ++at) values[at] = (at * 7919) & 0xfff;
    buffers.back().sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  std::vector<double> times;
  for (int run = 0; run < runs + 3; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    if (kernel(buffers[0], buffers[1], count).wait() != ERT_CMD_STATE_COMPLETED) return 1;
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    if (run >= 3) times.push_back(time.count());
  }
  std::sort(times.begin(), times.end());
  std::printf("%.1f\n", times[times.size() / 2]);
}
