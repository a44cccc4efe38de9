// SPDX-License-Identifier: Apache-2.0
//
// Two emulated cards for the tests of this folder: environment, the trial kernel, and launches in
// one line.
//
// Every test runs in a process of its own (ctest), because XRT reads its environment once.
#pragma once

#include <gtest/gtest.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

namespace tandem::emulation_test {

// As in kernels/trial.cpp.
enum Mode : uint32_t {
  kWrite = 0,
  kReadNull = 1,
  kAbort = 2,
  kWriteFarAway = 3,
  kThrow = 4,
  kExit = 5,
  kOverflowStack = 6,
  kWaitForFlag = 7,
  kSleep = 8,
  kSleepUntilFlag = 9,
};

inline const bool kEnvironmentSet = [] {
  setenv("XILINX_XRT", TANDEM_XRT_TREE, 1);
  setenv("TANDEM_CARDS", "2", 1);
  unsetenv("TANDEM_CARD_EXECUTABLE");
  return true;
}();

inline std::string trial_xclbin() { return TANDEM_TEST_XCLBIN_DIR "/trial.xclbin"; }

// A card with the trial kernel loaded and a buffer for its output.
struct TrialCard {
  explicit TrialCard(unsigned int index = 0, const std::string& units = "trial")
      : device(index),
        uuid(device.load_xclbin(trial_xclbin())),
        kernel(device, uuid, units),
        out(device, 4096, kernel.group_id(2)) {}

  ert_cmd_state run(Mode mode, uint32_t value) {
    auto launch = kernel(static_cast<uint32_t>(mode), value, out);
    return launch.wait(std::chrono::milliseconds(20000));
  }

  // Expects that a callback hears the state that the command ends with.
  void expect_callback(Mode mode, ert_cmd_state ends_with) {
    std::atomic<int> state{0};
    xrt::run launch(kernel);
    launch.set_arg(0, static_cast<uint32_t>(mode));
    launch.set_arg(1, 5u);
    launch.set_arg(2, out);
    launch.add_callback(
        ERT_CMD_STATE_COMPLETED,
        [](const void*, ert_cmd_state reported, void* data) {
          static_cast<std::atomic<int>*>(data)->store(reported);
        },
        &state);
    launch.start();
    EXPECT_EQ(launch.wait(), ends_with);
    while (state.load() == 0) std::this_thread::yield();
    EXPECT_EQ(state.load(), ends_with);
  }

  uint32_t* fetch() {
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    return out.map<uint32_t*>();
  }

  xrt::device device;
  xrt::uuid uuid;
  xrt::kernel kernel;
  xrt::bo out;
};

}  // namespace tandem::emulation_test
