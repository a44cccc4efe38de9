// SPDX-License-Identifier: Apache-2.0
//
// The entry for the registry: several devices as one (parallel/device.h).
#pragma once

#include <memory>
#include <vector>

#include "device/registry.h"

namespace tandem::device {

std::unique_ptr<Device> group_devices(std::vector<std::unique_ptr<Device>> devices,
                                      const GroupOptions& options);

}  // namespace tandem::device
