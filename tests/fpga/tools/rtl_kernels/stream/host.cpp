// SPDX-License-Identifier: Apache-2.0
//
// host XCLBIN MORE: feed -> plus -> step -> drain; drain then reads MORE words that nobody writes.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  constexpr int kLength = 3000;
  xrt::device device(0);
  const xrt::uuid uuid = device.load_xclbin(argv[1]);
  xrt::kernel feed(device, uuid, "feed"), drain(device, uuid, "drain");
  xrt::bo in(device, kLength * sizeof(uint32_t), feed.group_id(0));
  xrt::bo out(device, kLength * sizeof(uint32_t), drain.group_id(1));
  for (int i = 0; i < kLength; ++i) in.map<uint32_t*>()[i] = static_cast<uint32_t>(5 * i);
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  for (int round = 0; round < 2; ++round) {
    xrt::run draining(drain);
    draining.set_arg(1, out);
    draining.set_arg(2, std::atoi(argv[2]));
    draining.start();
    xrt::run feeding(feed);
    feeding.set_arg(0, in);
    feeding.set_arg(2, kLength);
    feeding.start();
    feeding.wait();
    const ert_cmd_state state = draining.wait();
    if (state != ERT_CMD_STATE_COMPLETED) {
      std::printf("drain ended with state %d\n", static_cast<int>(state));
      return 1;
    }
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    for (int i = 0; i < kLength; ++i) {
      if (out.map<uint32_t*>()[i] == static_cast<uint32_t>(5 * i + 2)) continue;
      std::printf("out[%d] is %u\nTEST FAILED\n", i, out.map<uint32_t*>()[i]);
      return 1;
    }
  }
  std::printf("TEST PASSED\n");
  return 0;
}
