// SPDX-License-Identifier: Apache-2.0
//
// Exercises: more than 32 compute units - each by its name (the masks beyond the first), all of
// them by the kernel's name with many runs at once, from several threads. The unit behind them is
// another kernel's, with other arguments. The checks of the host find nothing.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <thread>

#include "application.h"
#include "taken_report.h"

using namespace tandem::fpga_test;

namespace {

constexpr uint32_t kUnits = 40;
constexpr uint32_t kThreads = 4;
constexpr uint32_t kSize = 64;

struct Work {
  Work(xrt::device& device, xrt::kernel& kernel, uint32_t value)
      : data(device, kSize * 4, kernel.group_id(0)), run(kernel), added(value) {
    std::fill_n(data.map<uint32_t*>(), kSize, 1000u);
    data.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    run.set_arg(0, data);
    run.set_arg(1, kSize);
    run.set_arg(2, value);
  }
  void check(uint32_t launches) {
    CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
    data.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    for (uint32_t i = 0; i < kSize; ++i) {
      CHECK_EQ(data.map<uint32_t*>()[i], 1000 + launches * added);
    }
  }
  xrt::bo data;
  xrt::run run;
  uint32_t added;
};

void many_runs(xrt::device& device, xrt::kernel& kernel) {
  std::vector<Work> works;
  for (uint32_t i = 0; i < 3 * kUnits; ++i) works.emplace_back(device, kernel, i);
  for (uint32_t round = 0; round < 5; ++round) {
    for (auto& work : works) work.run.start();
    for (auto& work : works) work.check(round + 1);
  }
}

void run_last_unit(xrt::device& device, const xrt::uuid& uuid) {
  xrt::kernel set(device, uuid, "set");
  xrt::bo data(device, kSize * 4, set.group_id(1));
  CHECK_EQ(set(7, data, kSize).wait(), ERT_CMD_STATE_COMPLETED);
  data.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(data.map<uint32_t*>()[kSize - 1], 7u);
}

void use(const Arguments& arguments) {
  take_report();
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  for (uint32_t unit = 1; unit <= kUnits; ++unit) {
    xrt::kernel alone(device, uuid, "add:{add_" + std::to_string(unit) + "}",
                      xrt::kernel::cu_access_mode::exclusive);
    Work work(device, alone, unit);
    work.run.start();
    work.check(1);
    CHECK_EQ(alone.read_register(alone.offset(2)), unit);
  }
  xrt::kernel all(device, uuid, "add");
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] { many_runs(device, all); });
  }
  for (auto& thread : threads) thread.join();
  run_last_unit(device, uuid);
  CHECK_EQ(take_report(), "");
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, use); }
