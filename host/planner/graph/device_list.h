// SPDX-License-Identifier: Apache-2.0
//
// read_device_list: parses the devices that a user names: "4", or "2xgpu=16GiB,cpu=64GiB".
//
// A part is [COUNTx]KIND[=MEMORY]; a KIND begins with a letter. Devices are numbered in this order.
// A kind may occur in several parts. Threads: pure. Errors: Error("place", ...) that names the
// part.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/graph/device_links.h"

namespace tandem::planner {

constexpr int kMostDevices = 1024;

struct DeviceList {
  int num_devices = 1;
  std::vector<std::string> kinds;      // each name once; empty: devices of one kind without a name
  std::vector<int> kind_of;            // [num_devices]; empty without kinds
  std::vector<std::int64_t> memories;  // [num_devices]; empty if no part states a memory
};

// `bytes_of` parses a MEMORY and may throw. `memory_bytes`: the memory of devices whose part states
// none.
DeviceList read_device_list(std::string_view text, std::int64_t memory_bytes,
                            const std::function<std::int64_t(const std::string&)>& bytes_of);

}  // namespace tandem::planner
