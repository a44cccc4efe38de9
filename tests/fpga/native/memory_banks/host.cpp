// SPDX-License-Identifier: Apache-2.0
//
// Exercises: a buffer lies in the bank of its argument, or in its range of banks; group_id() and
// get_memory_group(); compute units are chosen by the banks of the arguments; a buffer in a bank
// that no unit reaches is copied by XRT; a bank that does not exist is refused.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr uint64_t kBankBytes = uint64_t{512} << 20;
constexpr uint32_t kCount = 100;

struct Unit {
  const char* name;
  uint64_t first_bank, last_bank;
};

void fill(xrt::bo& buffer) {
  for (uint32_t i = 0; i < kCount; ++i) buffer.map<uint32_t*>()[i] = i;
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
}

uint32_t result(xrt::bo& out) {
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  return out.map<uint32_t*>()[0];
}

void own_banks(xrt::device& device, const xrt::uuid& uuid) {
  for (const Unit& unit : {Unit{"low", 1, 1}, {"high", 30, 30}, {"group", 8, 11}}) {
    xrt::kernel kernel(device, uuid, std::string("sum:{") + unit.name + "}");
    xrt::bo a(device, 4096, kernel.group_id(0));
    xrt::bo out(device, 4096, kernel.group_id(1));
    CHECK_EQ(a.get_memory_group(), static_cast<uint32_t>(kernel.group_id(0)));
    const uint64_t bank = a.address() / kBankBytes;
    CHECK(bank >= unit.first_bank && bank <= unit.last_bank);
    fill(a);
    CHECK_EQ(kernel(a, out, kCount).wait(), ERT_CMD_STATE_COMPLETED);
    CHECK_EQ(result(out), 4950u);
  }
}

void other_banks(xrt::device& device, const xrt::uuid& uuid) {
  // One bank of a range is enough: XRT makes no copy, else the result would lie elsewhere.
  xrt::kernel group(device, uuid, "sum:{group}");
  xrt::bo from_nine(device, 4096, 9);
  xrt::bo into_ten(device, 4096, 10);
  fill(from_nine);
  CHECK_EQ(group(from_nine, into_ten, kCount).wait(), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(result(into_ten), 4950u);

  // Any unit: the one whose banks fit takes the command.
  xrt::kernel any(device, uuid, "sum");
  xrt::kernel high(device, uuid, "sum:{high}");
  xrt::bo a(device, 4096, high.group_id(0));
  xrt::bo out(device, 4096, high.group_id(1));
  fill(a);
  CHECK_EQ(any(a, out, kCount).wait(), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(result(out), 4950u);

  // In a bank that the unit does not reach: XRT makes a copy in one it does.
  xrt::kernel low(device, uuid, "sum:{low}");
  xrt::bo low_out(device, 4096, low.group_id(1));
  CHECK_EQ(low(a, low_out, kCount).wait(), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(result(low_out), 4950u);

  CHECK_THROWS(low.group_id(7));
  CHECK_THROWS(xrt::bo(device, 4096, 5000));
}

void banks(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  own_banks(device, uuid);
  other_banks(device, uuid);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, banks); }
