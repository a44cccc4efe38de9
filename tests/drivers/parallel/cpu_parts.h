// SPDX-License-Identifier: Apache-2.0
//
// Parts for composites: CPU devices of one thread each, and wrappers without the advantages of CPU
// units, or that get lost.
#pragma once

#include <memory>
#include <vector>

#include "cpu/backend.h"
#include "device/device.h"

namespace tandem::device::parallel {

inline std::vector<std::unique_ptr<Device>> cpu_devices(int count) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) {
    devices.push_back(cpu_backend().open(0, {.num_threads = 1}));
  }
  return devices;
}

inline std::vector<std::unique_ptr<ComputeUnit>> units_of(
    const std::vector<std::unique_ptr<Device>>& devices) {
  std::vector<std::unique_ptr<ComputeUnit>> units;
  for (const auto& device : devices) units.push_back(device->make_compute_unit());
  return units;
}

}  // namespace tandem::device::parallel
