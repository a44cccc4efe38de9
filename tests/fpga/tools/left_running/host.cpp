// SPDX-License-Identifier: Apache-2.0
//
// Starts a kernel that waits for as many values as its writer gives, or one more; and returns from
// main(). Nothing is destroyed before, as in programs with global objects.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstdio>
#include <cstdlib>

int main(int, char** argv) {
  const int given = 8, taken = std::atoi(argv[2]);
  auto& device = *new xrt::device(0);
  const auto uuid = device.load_xclbin(argv[1]);
  auto& give = *new xrt::kernel(device, uuid, "give");
  auto& take = *new xrt::kernel(device, uuid, "take");
  auto& sum = *new xrt::bo(device, 4096, take.group_id(0));
  auto& giving = *new xrt::run(give);
  auto& taking = *new xrt::run(take);
  giving.set_arg(0, given);
  giving.start();
  giving.wait();
  // With a callback, a thread of XRT waits for the run, and the exit for the thread.
  taking.add_callback(
      ERT_CMD_STATE_COMPLETED, [](const void*, ert_cmd_state, void*) {}, nullptr);
  taking.set_arg(0, sum);
  taking.set_arg(1, taken);
  taking.start();
  // Ample time for eight values; a run that never ends is left as it is.
  const auto limit = std::chrono::milliseconds(taken > given ? 500 : 60000);
  std::printf("the state is %d\n", static_cast<int>(taking.wait(limit)));
}
