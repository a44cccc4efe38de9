// SPDX-License-Identifier: Apache-2.0
//
// Finds devices through the registry.
#include "drivers/device/device_under_test.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "common/error.h"
#include "device/registry.h"

namespace tandem::device_test {
namespace {

device::DeviceOptions options_from_environment() {
  device::DeviceOptions options;
  if (const char* image = std::getenv("TANDEM_TEST_XCLBIN")) options.kernel_image = image;
  return options;
}

bool is_required(const std::string& kind) {
  const char* required = std::getenv("TANDEM_TEST_REQUIRE");
  std::istringstream list(required == nullptr ? "" : required);
  for (std::string item; std::getline(list, item, ',');) {
    if (item == kind) return true;
  }
  return false;
}

}  // namespace

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

OpenedDevice open_attention_device(const std::string& id) {
  const std::string kind = id.substr(0, id.find(':'));
  OpenedDevice opened;
  opened.required = is_required(kind);
  for (const device::Backend* backend : device::backends()) {
    if (backend->kind() != kind) continue;
    if (!backend->available()) {
      opened.why_absent = backend->unavailable_reason();
      return opened;
    }
    const auto index = static_cast<std::size_t>(std::stoi(id.substr(id.find(':') + 1)));
    if (backend->enumerate(options_from_environment()).size() <= index) {
      opened.why_absent = "no device " + id + " here";
      return opened;
    }
  }
  try {
    opened.device = device::open_device(id, options_from_environment());
  } catch (const Error& error) {
    opened.why_absent = error.what();
    return opened;
  }
  if (!opened.device->info().makes_attention) {
    opened.device.reset();
    opened.why_absent = id + " makes no attention units";
  }
  return opened;
}

std::string case_name(const std::string& id) {
  std::string name = id;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

}  // namespace tandem::device_test
