// SPDX-License-Identifier: Apache-2.0
//
// Exercises: a program whose wait for a kernel ended by its time limit, and that ends before the
// kernel does, is told which stream the kernel waits for. One that tries again is told nothing.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"
#include "taken_report.h"

using namespace tandem::fpga_test;
using namespace std::chrono_literals;

namespace {

constexpr int kCount = 100;

void run_once(const std::string& xclbin, bool gives, bool reads_early) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(xclbin);
  xrt::kernel give(device, uuid, "give"), take(device, uuid, "take");
  xrt::bo out(device, kCount * sizeof(int), take.group_id(0));
  xrt::run taking(take), giving(give);
  taking.set_arg(0, out);
  taking.set_arg(1, kCount);
  giving.set_arg(0, kCount / 2);
  giving.set_arg(1, 0);
  taking.start();
  giving.start();
  CHECK_EQ(giving.wait(20s), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(taking.wait(50ms), ERT_CMD_STATE_TIMEOUT);
  if (reads_early) out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  if (!gives) return;
  giving.start();
  CHECK_EQ(giving.wait(20s), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(taking.wait(20s), ERT_CMD_STATE_COMPLETED);
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void left_waiting(const Arguments& arguments) {
  take_report();
  run_once(arguments.xclbin, true, false);
  CHECK_EQ(take_report(), "");

  run_once(arguments.xclbin, false, false);
  const std::string left = take_report();
  CHECK(holds(left, "\"kind\": \"never_ends\", \"severity\": \"warning\", \"kernel\": \"take\""));
  CHECK(holds(left, "it waits: process 'take_1' waits for data in stream 'give_1.out->take_1.in'"));
  CHECK(!holds(left, "missing_wait"));

  run_once(arguments.xclbin, true, true);
  const std::string early = take_report();
  CHECK(holds(early, "\"kind\": \"missing_wait\""));
  CHECK(holds(early, "ended by the time limit"));
  CHECK(!holds(early, "never_ends"));
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, left_waiting); }
