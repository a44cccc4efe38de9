// SPDX-License-Identifier: Apache-2.0
//
// Exercises: xrt::ini set by the program, xrt::message, user events and ranges of xrt::profile.
#include <experimental/xrt_ini.h>
#include <experimental/xrt_message.h>
#include <experimental/xrt_profile.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <chrono>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

void observe(const Arguments& arguments) {
  xrt::ini::set("Runtime.verbosity", 5);
  CHECK_EQ(xrtIniStringSet("Runtime.runtime_log", "console"), 0);
  xrt::profile::user_range range("whole", "the whole program");
  xrt::profile::user_event event;
  event.mark("before");
  xrt::message::log(xrt::message::level::warning, "corpus", "a message of the application");
  xrt::message::logf(xrt::message::level::info, "corpus", "%1% and %2%", 1, "two");

  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel constant(device, uuid, "constant");
  xrt::bo out(device, 4096, constant.group_id(0));
  range.start("launch");
  CHECK_EQ(constant(out).wait(), ERT_CMD_STATE_COMPLETED);
  range.end();
  event.mark_time_ns(std::chrono::nanoseconds(1000), "after");
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(out.map<int*>()[0], 1234);

  // Too late: XRT has read its settings.
  CHECK_THROWS(xrt::ini::set("Runtime.verbosity", 4));
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, observe); }
