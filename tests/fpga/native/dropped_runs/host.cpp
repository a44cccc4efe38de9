// SPDX-License-Identifier: Apache-2.0
//
// Exercises: a program drops run, kernel and device in any order while a run with callbacks is not
// over. XRT still calls each callback, once, and the card works when it is opened again.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "application.h"

using namespace tandem::fpga_test;
using namespace std::chrono_literals;

namespace {

constexpr int kRounds = 30;
constexpr int kCallbacks = 3;  // of a run
constexpr uint32_t kTurns = 2'000'000;

std::atomic<int> calls{0};

struct Objects {
  explicit Objects(const std::string& xclbin)
      : device(std::make_unique<xrt::device>(0u)),
        kernel(std::make_unique<xrt::kernel>(*device, device->load_xclbin(xclbin), "count_up")),
        out(std::make_unique<xrt::bo>(*device, 4096, kernel->group_id(2))),
        run(std::make_unique<xrt::run>(*kernel)) {
    run->set_arg(2, *out);
  }
  void start(uint32_t turns, uint32_t value) {
    run->set_arg(0, turns);
    run->set_arg(1, value);
    run->start();
  }

  std::unique_ptr<xrt::device> device;
  std::unique_ptr<xrt::kernel> kernel;
  std::unique_ptr<xrt::bo> out;
  std::unique_ptr<xrt::run> run;
};

void count_call(const void*, ert_cmd_state, void*) { calls.fetch_add(1); }

void start_and_drop(const std::string& xclbin, bool device_first) {
  Objects objects(xclbin);
  for (int callback = 0; callback < kCallbacks; ++callback) {
    objects.run->add_callback(ERT_CMD_STATE_COMPLETED, count_call, nullptr);
  }
  objects.start(kTurns, 1);
  if (device_first) {
    objects.device.reset();
    objects.kernel.reset();
    objects.out.reset();
  }
}

// A run that its callback starts again ends as often as it was started.
void restart_and_drop(const std::string& xclbin) {
  static std::atomic<xrt::run*> restarted{nullptr};
  calls = 0;
  auto objects = std::make_unique<Objects>(xclbin);
  objects->run->add_callback(
      ERT_CMD_STATE_COMPLETED,
      [](const void*, ert_cmd_state, void*) {
        if (calls.fetch_add(1) == 0) {
          restarted.load()->start();
          restarted = nullptr;
        }
      },
      nullptr);
  restarted = objects->run.get();
  objects->start(kTurns, 1);
  while (restarted.load() != nullptr) std::this_thread::sleep_for(1ms);
  objects.reset();
  while (calls.load() < 2) std::this_thread::sleep_for(1ms);
}

void drop(const Arguments& arguments) {
  for (int round = 0; round < kRounds; ++round) start_and_drop(arguments.xclbin, round % 2 == 0);
  while (calls.load() < kRounds * kCallbacks) std::this_thread::sleep_for(1ms);
  restart_and_drop(arguments.xclbin);
  CHECK_EQ(calls.load(), 2);
  Objects objects(arguments.xclbin);
  objects.start(1, 42);
  objects.run->wait();
  objects.out->sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(objects.out->map<uint32_t*>()[0], 42u);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, drop); }
