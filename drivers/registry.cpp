// SPDX-License-Identifier: Apache-2.0
//
// The list of backends of this build: the only place that names them all.
#include "device/registry.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "common/error.h"
#include "common/processors.h"
#include "common/thread_plan.h"
#include "cpu/backend.h"
#include "cuda/backend.h"
#include "opencl/backend.h"
#include "parallel/backend.h"
#include "xrt/backend.h"

namespace tandem::device {

std::span<const Backend* const> backends() {
  static const std::array<const Backend*, 4> all = {&cpu_backend(), &cuda_backend(),
                                                    &opencl_backend(), &xrt_backend()};
  return all;
}

void check_options(const DeviceOptions& options) {
  std::vector<BackendOption> declared;
  for (const Backend* backend : backends()) {
    declared.insert(declared.end(), backend->options().begin(), backend->options().end());
  }
  check_values(options.values, declared);
}

std::unique_ptr<Device> open_device(std::string_view id, const DeviceOptions& options) {
  check_options(options);
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

namespace {

std::string kind_of(const std::string& id) { return id.substr(0, id.find(':')); }

}  // namespace

DeviceOptions part_options(std::span<const std::string> ids, const DeviceOptions& options) {
  DeviceOptions part = options;
  const auto cpus = static_cast<std::size_t>(
      std::ranges::count_if(ids, [](const std::string& id) { return kind_of(id) == "cpu"; }));
  if (cpus < 2) return part;
  const std::size_t threads =
      plan_threads(this_machine(), options.num_threads, options.pin).threads.size();
  part.num_threads = static_cast<int>(std::max<std::size_t>(1, threads / cpus));
  part.pin = Pin::kOff;  // two of them would take the same processors
  return part;
}

std::unique_ptr<Device> open_group(std::span<const std::string> ids, const GroupOptions& group,
                                   const DeviceOptions& options) {
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::string> names;
  for (const std::string& id : ids) {
    if (group.split == GroupSplit::kTensor && kind_of(id) != kind_of(ids.front())) {
      throw Error("device", "'" + ids.front() + "' and '" + id +
                                "' cannot share matrices: they are of different kinds; use --split "
                                "layers or auto");
    }
    if (kind_of(id) != "cpu" && std::ranges::find(names, full_id(id)) != names.end()) {
      throw Error("device", "'" + id + "' is named twice");
    }
    names.push_back(full_id(id));
  }
  const DeviceOptions part = part_options(ids, options);
  for (const std::string& id : ids) devices.push_back(open_device(id, part));
  return group_devices(std::move(devices), group);
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
