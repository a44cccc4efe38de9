// SPDX-License-Identifier: Apache-2.0
//
// Exercises: kernels by name and by `name:{units}`; shared, exclusive and no access; conflicts of
// access; offset() and group_id(); registers read and written, and outputs in registers.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <memory>

#include "application.h"

using namespace tandem::fpga_test;
using Access = xrt::kernel::cu_access_mode;

namespace {

void launch(xrt::device& device, xrt::kernel& kernel, uint32_t value) {
  xrt::bo out(device, 4096, kernel.group_id(1));
  xrt::run run(kernel);
  run.set_arg(0, value);
  run.set_arg(1, out);
  run.start();
  CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(out.map<uint32_t*>()[0], 3 * value);
}

void registers(xrt::device& device, const xrt::uuid& uuid) {
  xrt::kernel alone(device, uuid, "triple:{two}", Access::exclusive);
  launch(device, alone, 11);
  CHECK_EQ(alone.offset(0), 0x10u);
  CHECK(alone.offset(1) > alone.offset(0));
  CHECK_EQ(alone.read_register(alone.offset(2)), 11u);
  CHECK_EQ(alone.read_register(alone.offset(0)), 11u);
  CHECK((alone.read_register(0) & 4u) != 0);  // idle

  // The same by registers: argument, address, start, wait for done.
  xrt::bo out(device, 4096, alone.group_id(1));
  alone.write_register(alone.offset(0), 5);
  alone.write_register(alone.offset(1), static_cast<uint32_t>(out.address()));
  alone.write_register(alone.offset(1) + 4, static_cast<uint32_t>(out.address() >> 32));
  CHECK_EQ(alone.read_register(alone.offset(0)), 5u);
  alone.write_register(0, 1);
  while ((alone.read_register(0) & 2u) == 0) {
  }
  CHECK_EQ(alone.read_register(alone.offset(2)), 5u);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(out.map<uint32_t*>()[0], 15u);
  CHECK_THROWS(alone.read_register(1 << 20));
  CHECK_THROWS(alone.offset(9));
  CHECK_THROWS(xrt::kernel(device, uuid, "triple:{two}", Access::shared));
}

// A unit that one handle has alone is refused to another handle of the card, and vice versa.
void two_handles(const std::string& xclbin) {
  xrt::device device(0);
  xrt::device other(0);
  const auto uuid = device.load_xclbin(xclbin);
  other.load_xclbin(xclbin);
  {
    xrt::kernel alone(device, uuid, "triple:{one}", Access::exclusive);
    CHECK_THROWS(xrt::kernel(other, uuid, "triple:{one}", Access::exclusive));
    CHECK_THROWS(xrt::kernel(other, uuid, "triple:{one}"));
    xrt::kernel elsewhere(other, uuid, "triple:{two}");
    launch(other, elsewhere, 4);
  }
  xrt::kernel shared(device, uuid, "triple:{one}");
  xrt::kernel shared_too(other, uuid, "triple:{one}");
  launch(other, shared_too, 6);
  shared_too = xrt::kernel();
  CHECK_THROWS(xrt::kernel(other, uuid, "triple:{one}", Access::exclusive));
}

void open_and_read(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel all(device, uuid, "triple");
  launch(device, all, 7);
  {
    xrt::kernel some(device, uuid, "triple:{one,three}");
    launch(device, some, 8);
    CHECK_THROWS(some.read_register(0));  // several units, shared
    CHECK_THROWS(xrt::kernel(device, uuid, "triple:{one}", Access::exclusive));
  }
  all = xrt::kernel();
  registers(device, uuid);
  two_handles(arguments.xclbin);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, open_and_read); }
