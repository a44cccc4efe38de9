// SPDX-License-Identifier: Apache-2.0
//
// Exercises: devices by index, by bus address and from a handle; every key of get_info() returns or
// throws; enumeration; the last error.
#include <experimental/xrt_error.h>
#include <experimental/xrt_system.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstdlib>
#include <type_traits>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

// get_info()'s answer for a key, or the exception's text.
template <xrt::info::device kKey>
std::string told(const xrt::device& device) {
  try {
    const auto value = device.get_info<kKey>();
    if constexpr (std::is_same_v<decltype(value), const std::string>) {
      return value;
    } else if constexpr (std::is_same_v<decltype(value), const xrt::uuid>) {
      return value.to_string();
    } else {
      return std::to_string(value);
    }
  } catch (const std::exception& error) {
    return std::string("exception: ") + error.what();
  }
}

void ask_everything(const xrt::device& device) {
  using Key = xrt::info::device;
  const std::string name = told<Key::name>(device);
  CHECK(name.find("u55c") != std::string::npos);
  CHECK(told<Key::bdf>(device).find(':') != std::string::npos);
  CHECK(std::stoul(told<Key::max_clock_frequency_mhz>(device)) >= 100);
  CHECK_EQ(told<Key::nodma>(device), std::string("0"));
  CHECK_EQ(told<Key::m2m>(device), std::string("1"));
  for (const std::string& answer :
       {told<Key::interface_uuid>(device), told<Key::kdma>(device), told<Key::offline>(device),
        told<Key::electrical>(device), told<Key::thermal>(device), told<Key::mechanical>(device),
        told<Key::memory>(device), told<Key::platform>(device), told<Key::pcie_info>(device),
        told<Key::host>(device), told<Key::dynamic_regions>(device), told<Key::vmr>(device),
        told<Key::aie>(device), told<Key::aie_shim>(device)}) {
    CHECK(!answer.empty());
  }
}

void run_on(xrt::device& device, const std::string& xclbin) {
  const auto uuid = device.load_xclbin(xclbin);
  xrt::kernel twice(device, uuid, "twice");
  xrt::bo data(device, 4096, twice.group_id(0));
  data.map<int32_t*>()[5] = 21;
  data.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  CHECK_EQ(twice(data, 6u).wait(), ERT_CMD_STATE_COMPLETED);
  data.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(data.map<int32_t*>()[5], 42);
}

void ask(const Arguments& arguments) {
  CHECK_EQ(xrt::system::enumerate_devices(), 2u);
  xrt::device first(0);
  ask_everything(first);
  run_on(first, arguments.xclbin);
  ask_everything(first);

  const auto second_name = xrt::device(1).get_info<xrt::info::device::bdf>();
  CHECK(second_name != first.get_info<xrt::info::device::bdf>());
  xrt::device by_name(std::string("1"));
  CHECK_EQ(by_name.get_info<xrt::info::device::bdf>(), second_name);
  xrt::device by_address(second_name);
  CHECK_EQ(by_address.get_info<xrt::info::device::bdf>(), second_name);
  run_on(by_address, arguments.xclbin);

  xrt::device same(static_cast<xclDeviceHandle>(first));
  CHECK(same.get_xclbin_uuid() == first.get_xclbin_uuid());
  CHECK_THROWS(xrt::error(first, XRT_ERROR_CLASS_SYSTEM));  // emulated cards have none

  CHECK_THROWS(xrt::device(2));
  CHECK_THROWS(xrt::device(std::string("0000:99:00.1")));
  CHECK_THROWS(xrt::device(std::string("nonsense")));
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, ask); }
