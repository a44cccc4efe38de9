// SPDX-License-Identifier: Apache-2.0
//
// Exercises: xrt::queue - transfers and launches in order, and two queues joined by events.
#include <experimental/xrt_queue.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr uint32_t kSize = 500;

struct Work {
  Work(xrt::device& device, xrt::kernel& kernel)
      : data(device, kSize * 4, kernel.group_id(0)), values(data.map<uint32_t*>()) {
    for (uint32_t i = 0; i < kSize; ++i) values[i] = i;
  }
  void check(uint32_t factor, uint32_t offset) const {
    for (uint32_t i = 0; i < kSize; ++i) CHECK_EQ(values[i], factor * i + offset);
  }
  xrt::bo data;
  uint32_t* values;
};

// ((i * 2 + 1) * 3 + 1) * 5 + 1, whatever the speed of transfers and launches.
void in_order(xrt::device& device, xrt::kernel& kernel) {
  Work work(device, kernel);
  xrt::queue queue;
  queue.enqueue([&] { work.data.sync(XCL_BO_SYNC_BO_TO_DEVICE); });
  for (const uint32_t factor : {2u, 3u, 5u}) {
    queue.enqueue([&, factor] { kernel(work.data, kSize, factor).wait(); });
  }
  auto done = queue.enqueue([&] { work.data.sync(XCL_BO_SYNC_BO_FROM_DEVICE); });
  done.wait();
  work.check(30, 21);
}

void joined(xrt::device& device, xrt::kernel& kernel) {
  Work work(device, kernel);
  xrt::queue transfers, launches;
  xrt::queue::event sent = transfers.enqueue([&] { work.data.sync(XCL_BO_SYNC_BO_TO_DEVICE); });
  launches.enqueue(sent);
  xrt::queue::event computed = launches.enqueue([&] { kernel(work.data, kSize, 7u).wait(); });
  transfers.enqueue(computed);
  auto state = transfers.enqueue([&] {
    work.data.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    return work.values[0];
  });
  CHECK_EQ(state.get(), 1u);
  work.check(7, 1);
}

void queues(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel kernel(device, uuid, "affine");
  for (int round = 0; round < 5; ++round) {
    in_order(device, kernel);
    joined(device, kernel);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, queues); }
