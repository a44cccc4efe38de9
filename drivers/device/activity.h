// SPDX-License-Identifier: Apache-2.0
//
// DeviceActivity: the work of a device with its times, from the device's own records, on the host's
// clock.
//
// Two spans of one track are nested or do not overlap. A sink is called from any thread, one call
// at a time, and outlives the devices that were opened with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace tandem::device {

struct DeviceActivity {
  std::string device, track, name;  // "cuda:0", "stream 7", "rms_norm_kernel"
  std::chrono::steady_clock::time_point begin, end;
  std::int64_t bytes = -1;  // size of a copy; -1: it is not a copy
};

using ActivitySink = std::function<void(const DeviceActivity&)>;

}  // namespace tandem::device
