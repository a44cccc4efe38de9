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

device::DeviceOptions options_from_environment() {
  device::DeviceOptions options;
  if (const char* image = std::getenv("TANDEM_TEST_XCLBIN")) options.values.set("xclbin", image);
  if (const char* kernels = std::getenv("TANDEM_TEST_CUDA_KERNELS"))
    options.values.set("cuda-kernels", kernels);
  return options;
}

namespace {

bool is_required(const std::string& kind) {
  const char* required = std::getenv("TANDEM_TEST_REQUIRE");
  std::istringstream list(required == nullptr ? "" : required);
  for (std::string item; std::getline(list, item, ',');) {
    if (item == kind) return true;
  }
  return false;
}

OpenedDevice open(const std::string& id) {
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
  return opened;
}

OpenedDevice unless(bool makes, OpenedDevice opened, const std::string& what) {
  if (!opened.device || makes) return opened;
  opened.why_absent = opened.device->info().id + " makes no " + what + " units";
  opened.device.reset();
  return opened;
}

}  // namespace

OpenedDevice open_attention_device(const std::string& id) {
  OpenedDevice opened = open(id);
  const bool makes = opened.device && opened.device->info().makes_attention;
  return unless(makes, std::move(opened), "attention");
}

OpenedDevice open_compute_device(const std::string& id) {
  OpenedDevice opened = open(id);
  const bool makes = opened.device && opened.device->info().makes_compute;
  return unless(makes, std::move(opened), "compute");
}

std::string case_name(const std::string& id) {
  std::string name = id;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

}  // namespace tandem::device_test
