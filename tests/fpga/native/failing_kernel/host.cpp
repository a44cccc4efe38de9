// SPDX-License-Identifier: Apache-2.0
//
// Exercises: a kernel that fails ends its command with ERT_CMD_STATE_ERROR, also for callbacks and
// for commands behind it; other devices go on, and the device opened anew is a fresh card.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <atomic>
#include <thread>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

struct Card {
  Card(unsigned int index, const std::string& xclbin)
      : device(index),
        kernel(device, device.load_xclbin(xclbin), "fragile"),
        out(device, 4096, kernel.group_id(1)) {}
  ert_cmd_state run(uint32_t mode) { return kernel(mode, out).wait(std::chrono::seconds(20)); }
  void check_healthy() {
    CHECK_EQ(run(0), ERT_CMD_STATE_COMPLETED);
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    CHECK_EQ(out.map<uint32_t*>()[0], 77u);
  }
  xrt::device device;
  xrt::kernel kernel;
  xrt::bo out;
};

void fail(const std::string& xclbin, uint32_t mode) {
  Card bystander(1, xclbin);
  Card card(0, xclbin);
  card.check_healthy();
  CHECK_EQ(card.run(mode), ERT_CMD_STATE_ERROR);
  CHECK_EQ(card.run(0), ERT_CMD_STATE_ERROR);
  CHECK_THROWS(card.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE));
  bystander.check_healthy();
}

void with_callback(const std::string& xclbin) {
  Card card(0, xclbin);
  static std::atomic<int> state{0};
  xrt::run run(card.kernel);
  run.set_arg(0, 1u);
  run.set_arg(1, card.out);
  run.add_callback(
      ERT_CMD_STATE_COMPLETED, [](const void*, ert_cmd_state reported, void*) { state = reported; },
      nullptr);
  run.start();
  CHECK_EQ(run.wait(), ERT_CMD_STATE_ERROR);
  while (state.load() == 0) std::this_thread::yield();
  CHECK_EQ(state.load(), static_cast<int>(ERT_CMD_STATE_ERROR));
}

void break_things(const Arguments& arguments) {
  for (const uint32_t mode : {1u, 2u, 3u}) fail(arguments.xclbin, mode);
  with_callback(arguments.xclbin);
  Card(0, arguments.xclbin).check_healthy();
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, break_things); }
