// SPDX-License-Identifier: Apache-2.0
//
// Exercises: a deadlock, in one kernel and between two, ends the commands with ERROR; the card goes
// on.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr std::chrono::seconds kLimit(30);

void deadlocks(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel exchange(device, uuid, "exchange"), ask(device, uuid, "ask"),
      answer(device, uuid, "answer");
  xrt::bo out(device, sizeof(int), exchange.group_id(0));
  xrt::bo answered(device, sizeof(int), answer.group_id(0));
  for (const int crossed : {0, 1, 0, 1}) {
    const auto expected = crossed ? ERT_CMD_STATE_ERROR : ERT_CMD_STATE_COMPLETED;
    auto run = exchange(out, crossed);
    CHECK_EQ(run.wait(kLimit), expected);
    xrt::run asking(ask), answering(answer);
    asking.set_arg(0, crossed);
    answering.set_arg(0, answered);
    asking.start();
    answering.start();
    CHECK_EQ(asking.wait(kLimit), expected);
    CHECK_EQ(answering.wait(kLimit), expected);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, deadlocks); }
