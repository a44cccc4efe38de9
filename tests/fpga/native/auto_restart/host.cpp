// SPDX-License-Identifier: Apache-2.0
//
// Exercises: counted auto-restart - start(autostart) makes as many calls as it says; without end
// until stop(); a plain start makes one; a kernel without a counter refuses.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

struct Counter {
  Counter(xrt::device& device, xrt::kernel& kernel)
      : data(device, 4096, xrt::bo::flags::p2p, kernel.group_id(0)),
        count(data.map<volatile uint32_t*>()) {
    *count = 0;
  }
  xrt::bo data;
  volatile uint32_t* count;
};

void restart(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel tick(device, uuid, "tick");
  Counter counter(device, tick);
  xrt::run run(tick);
  run.set_arg(0, counter.data);
  run.set_arg(1, 3u);
  run.start();
  CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(*counter.count, 3u);

  run.start(xrt::autostart{20});
  CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(*counter.count, 63u);

  run.start(xrt::autostart{0});
  while (*counter.count < 1000) {
  }
  CHECK_EQ(run.state(), ERT_CMD_STATE_RUNNING);
  run.stop();
  CHECK_EQ(run.state(), ERT_CMD_STATE_COMPLETED);
  const uint32_t stopped = *counter.count;
  CHECK_EQ(stopped % 3, 0u);
  run.start(xrt::autostart{1});
  CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(*counter.count, stopped + 3);

  // For ever, until it is aborted.
  run.start(xrt::autostart{0});
  CHECK_EQ(run.abort(), ERT_CMD_STATE_ABORT);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, restart); }
