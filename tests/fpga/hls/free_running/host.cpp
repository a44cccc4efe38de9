// SPDX-License-Identifier: Apache-2.0
//
// Exercises: free-running units between a kernel that loads and one that stores. The reader is
// launched first, then last. Values that stay on their way when the program ends are no finding,
// since a unit that runs freely may still take them. Arguments: what is added to a value on its
// way; "tasks" if tasks do that, which may hold all values, so a wait for the loader alone is
// right.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <thread>
#include <vector>

#include "application.h"
#include "taken_report.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kCount = 10000;
constexpr std::chrono::seconds kLimit(30);

void stream_through(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  const int added = std::stoi(arguments.rest.at(0));
  xrt::kernel load(device, uuid, "load"), store(device, uuid, "store");
  xrt::bo in(device, kCount * sizeof(int), load.group_id(0));
  xrt::bo out(device, kCount * sizeof(int), store.group_id(0));
  int* const values = in.map<int*>();
  for (int i = 0; i < kCount; ++i) values[i] = 3 * i;
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  for (const bool store_first : {true, false}) {
    xrt::run loading(load), storing(store);
    loading.set_arg(0, in);
    loading.set_arg(1, kCount);
    storing.set_arg(0, out);
    storing.set_arg(1, kCount);
    if (store_first) storing.start();
    loading.start();
    if (!store_first) storing.start();
    CHECK_EQ(loading.wait(kLimit), ERT_CMD_STATE_COMPLETED);
    CHECK_EQ(storing.wait(kLimit), ERT_CMD_STATE_COMPLETED);
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    const int* const results = out.map<int*>();
    int wrong = 0;
    for (int i = 0; i < kCount; ++i) wrong += results[i] == values[i] + added ? 0 : 1;
    CHECK_EQ(wrong, 0);
  }
}

// The program looks again and again, so that the values are at the end of their way once.
void load_before_store(const std::string& xclbin) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(xclbin);
  xrt::kernel load(device, uuid, "load"), store(device, uuid, "store");
  xrt::bo in(device, kCount * sizeof(int), load.group_id(0));
  xrt::bo out(device, kCount * sizeof(int), store.group_id(0));
  in.write(std::vector<int>(kCount).data());
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  xrt::run loading = load(in, 500);
  CHECK_EQ(loading.wait(kLimit), ERT_CMD_STATE_COMPLETED);
  for (int times = 0; times < 20; ++times) {
    CHECK_EQ(loading.state(), ERT_CMD_STATE_COMPLETED);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK_EQ(store(out, 500).wait(kLimit), ERT_CMD_STATE_COMPLETED);
}

void leave_values(const std::string& xclbin) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(xclbin);
  xrt::kernel load(device, uuid, "load"), store(device, uuid, "store");
  xrt::bo in(device, kCount * sizeof(int), load.group_id(0));
  xrt::bo out(device, kCount * sizeof(int), store.group_id(0));
  in.write(std::vector<int>(kCount).data());
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  xrt::run loading = load(in, 20), storing = store(out, 15);
  CHECK_EQ(loading.wait(kLimit), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(storing.wait(kLimit), ERT_CMD_STATE_COMPLETED);
}

void run_all(const Arguments& arguments) {
  take_report();
  stream_through(arguments);
  leave_values(arguments.xclbin);
  if (arguments.rest.size() > 1) load_before_store(arguments.xclbin);
  CHECK_EQ(take_report(), "");
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, run_all); }
