// SPDX-License-Identifier: Apache-2.0
//
// Exercises: free-running units between a kernel that loads and one that stores. The reader is
// launched first, then last. Argument: what is added to a value on its way.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

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

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, stream_through); }
