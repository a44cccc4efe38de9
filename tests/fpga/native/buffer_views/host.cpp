// SPDX-License-Identifier: Apache-2.0
//
// Exercises: sub-buffers as kernel arguments, partial sync, partial write and read, copies between
// buffers at once and in another thread, and the limits of each.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <future>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr size_t kPart = 4096;
constexpr size_t kWords = kPart / 4;

// Each quarter of a buffer is a sub-buffer that a launch of its own works on.
void parts(xrt::device& device, xrt::kernel& kernel) {
  xrt::bo whole(device, 4 * kPart, kernel.group_id(0));
  auto* values = whole.map<uint32_t*>();
  std::fill(values, values + 4 * kWords, 100u);
  whole.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  for (size_t part = 0; part < 4; part += 2) {
    xrt::bo view(whole, kPart, part * kPart);
    CHECK_EQ(view.size(), kPart);
    CHECK_EQ(view.address(), whole.address() + part * kPart);
    CHECK(view.map<uint32_t*>() == values + part * kWords);
    CHECK_EQ(kernel(view, static_cast<uint32_t>(kWords)).wait(), ERT_CMD_STATE_COMPLETED);
    view.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  }
  whole.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (size_t i = 0; i < 4 * kWords; ++i) {
    const size_t expected = i / kWords % 2 == 0 ? 101 + i % kWords : 100;
    CHECK_EQ(values[i], expected);
  }
  CHECK_THROWS(xrt::bo(whole, kPart, 4 * kPart));
}

// Only what is synchronised arrives.
void partial_sync(xrt::device& device, xrt::kernel& kernel) {
  xrt::bo buffer(device, 2 * kPart, kernel.group_id(0));
  auto* values = buffer.map<uint32_t*>();
  std::fill(values, values + 2 * kWords, 1u);
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  std::fill(values, values + 2 * kWords, 9u);
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE, kPart, kPart);
  std::fill(values, values + 2 * kWords, 0u);
  buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(values[kWords - 1], 1u);
  CHECK_EQ(values[kWords], 9u);
  const uint32_t five[] = {5, 5};
  buffer.write(five, sizeof(five), 40);
  CHECK_EQ(values[10], 5u);
  uint32_t back[3] = {};
  buffer.read(back, sizeof(back), 40);
  CHECK_EQ(back[1], 5u);
  CHECK_EQ(back[2], 1u);
  CHECK_THROWS(buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE, kPart, 2 * kPart));
  CHECK_THROWS(buffer.write(five, 2 * kPart + 4, 0));
  CHECK_THROWS(buffer.read(back, 4, 2 * kPart));
}

void copies(xrt::device& device, xrt::kernel& kernel) {
  xrt::bo from(device, 2 * kPart, kernel.group_id(0));
  xrt::bo to(device, 2 * kPart, kernel.group_id(0));
  auto* values = from.map<uint32_t*>();
  for (size_t i = 0; i < 2 * kWords; ++i) values[i] = static_cast<uint32_t>(i);
  from.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  to.copy(from);
  to.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK(std::equal(values, values + 2 * kWords, to.map<uint32_t*>()));
  auto pending = std::async(std::launch::async, [&] { to.copy(from, kPart, kPart, 0); });
  pending.get();
  to.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(to.map<uint32_t*>()[0], kWords);
  CHECK_EQ(to.map<uint32_t*>()[kWords], kWords);
  CHECK_THROWS(to.copy(from, kPart, 2 * kPart, 0));
  CHECK_THROWS(to.copy(from, 3 * kPart));
}

void views(const Arguments& arguments) {
  xrt::device device(0);
  xrt::kernel kernel(device, device.load_xclbin(arguments.xclbin), "add_index");
  parts(device, kernel);
  partial_sync(device, kernel);
  copies(device, kernel);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, views); }
