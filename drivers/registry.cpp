// SPDX-License-Identifier: Apache-2.0
//
// The list of backends of this build: the only place that names them all.
#include "device/registry.h"

#include <array>
#include <charconv>

#include "common/error.h"
#include "cpu/backend.h"
#include "cuda/backend.h"
#include "opencl/backend.h"
#include "xrt/backend.h"

namespace tandem::device {

std::span<const Backend* const> backends() {
  static const std::array<const Backend*, 4> all = {&cpu_backend(), &cuda_backend(),
                                                    &opencl_backend(), &xrt_backend()};
  return all;
}

std::unique_ptr<Device> open_device(std::string_view id, const DeviceOptions& options) {
  const std::size_t colon = id.find(':');
  const std::string_view kind = id.substr(0, colon);
  int index = 0;
  if (colon != std::string_view::npos) {
    const std::string_view digits = id.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc() || end != digits.data() + digits.size() || index < 0) {
      throw Error("device", "'" + std::string(id) + "' is not a device id such as cpu or xrt:0");
    }
  }
  std::string known;
  for (const Backend* backend : backends()) {
    if (backend->kind() == kind) return backend->open(index, options);
    known += (known.empty() ? "" : ", ") + std::string(backend->kind());
  }
  throw Error("device", "no such kind of device: '" + std::string(id) + "' (known: " + known + ")");
}

std::vector<DeviceInfo> enumerate_devices(const DeviceOptions& options) {
  std::vector<DeviceInfo> all;
  for (const Backend* backend : backends()) {
    if (!backend->available()) continue;
    for (DeviceInfo& info : backend->enumerate(options)) all.push_back(std::move(info));
  }
  return all;
}

}  // namespace tandem::device
