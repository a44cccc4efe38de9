// SPDX-License-Identifier: Apache-2.0
//
// The devices that the op cases run on, by id.
//
// Device 0 of every kind of the registry is always listed, so that a missing one is a skipped case
// with its reason. Further devices are listed if present. TANDEM_TEST_REQUIRE=kind[,kind]
// turns the skip of that kind into a failure. Cards take their kernel image from
// TANDEM_TEST_XCLBIN.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/registry.h"

namespace tandem::device_test {

std::vector<std::string> device_ids();
device::DeviceOptions options_from_environment();

struct OpenedDevice {
  std::unique_ptr<device::Device> device;  // null: absent
  std::string why_absent;
  bool required = false;  // by TANDEM_TEST_REQUIRE
};

// Also absent if the device makes no such units.
OpenedDevice open_attention_device(const std::string& id);
OpenedDevice open_compute_device(const std::string& id);

// "opencl:0" as part of a test's name.
std::string case_name(const std::string& id);

}  // namespace tandem::device_test
