// SPDX-License-Identifier: Apache-2.0
//
// The op cases of attention units on two cards, without the other kinds of device. A missing card
// is a failure, since the emulated ones are part of the build.
#include <algorithm>
#include <cctype>

#include "drivers/device/device_under_test.h"
#include "drivers/xrt/emulated_environment.h"
#include "xrt/backend.h"

namespace tandem::device_test {

std::vector<std::string> device_ids() { return {"xrt:0", "xrt:1"}; }

OpenedDevice open_attention_device(const std::string& id) {
  device::DeviceOptions options;
  options.values.set("xclbin", kernel_image());
  const int index = id.back() - '0';
  OpenedDevice opened;
  opened.required = true;
  const device::Backend& backend = device::xrt_backend();
  if (static_cast<int>(backend.enumerate(options).size()) <= index) {
    opened.why_absent = "no card " + id + " here";
    return opened;
  }
  opened.device = backend.open(index, options);
  return opened;
}

std::string case_name(const std::string& id) {
  std::string name = id;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

}  // namespace tandem::device_test
