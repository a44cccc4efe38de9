// SPDX-License-Identifier: Apache-2.0
//
// Exercises: xrt::mailbox - arguments of a kernel that restarts itself change while it runs; its
// outputs are read, always those of a call that saw the last change; stop().
#include <experimental/xrt_mailbox.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

int value_of(xrt::mailbox& mailbox, int index) {
  const auto [data, bytes] = mailbox.get_arg(index);
  CHECK_EQ(bytes, sizeof(int));
  return *static_cast<const int*>(data);
}

void post(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel arithmetic(device, uuid, "arithmetic");
  auto run = arithmetic(xrt::autostart{0}, 3, 4);
  xrt::mailbox mailbox(run);
  mailbox.read();
  CHECK_EQ(value_of(mailbox, 3), 3 * 4);  // the first round's is 0, as the register was at first
  for (int round = 0; round < 50; ++round) {
    mailbox.set_arg(0, round);
    mailbox.set_arg("b", 2 * round + 1);
    mailbox.write();
    mailbox.read();
    CHECK_EQ(value_of(mailbox, 2), 3 * round + 1);
    CHECK_EQ(value_of(mailbox, 3), round * (2 * round + 1));
  }
  // Not released: the kernel does not see it.
  mailbox.set_arg(0, 1000);
  mailbox.read();
  CHECK_EQ(value_of(mailbox, 2), 49 + 99);
  CHECK_EQ(run.state(), ERT_CMD_STATE_RUNNING);
  run.stop();
  CHECK_EQ(run.state(), ERT_CMD_STATE_COMPLETED);

  // One call, its arguments by the mailbox.
  xrt::run once(arithmetic);
  once.set_arg(0, 6);
  once.set_arg(1, 7);
  once.start();
  CHECK_EQ(once.wait(), ERT_CMD_STATE_COMPLETED);
  xrt::mailbox results(once);
  results.read();
  CHECK_EQ(value_of(results, 3), 42);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, post); }
