// SPDX-License-Identifier: Apache-2.0
//
// Every device of the registry.
#include "device/registry.h"
#include "drivers/device/device_under_test.h"

namespace tandem::device_test {

std::vector<std::string> device_ids() {
  std::vector<std::string> ids;
  for (const device::Backend* backend : device::backends()) {
    ids.push_back(std::string(backend->kind()) + ":0");
  }
  for (const device::DeviceInfo& info : device::enumerate_devices(options_from_environment())) {
    const bool is_first = info.id.find(':') == std::string::npos || info.id.ends_with(":0");
    if (!is_first) ids.push_back(info.id);
  }
  return ids;
}

}  // namespace tandem::device_test
