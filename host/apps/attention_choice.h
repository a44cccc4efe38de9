// SPDX-License-Identifier: Apache-2.0
//
// Chooses the devices that run attention for a model: finds the model's needs, and reads
// --attention as devices and shares.
//
// Pure functions of a model's configuration and of the capabilities of devices. Errors:
// Error("attention", ...) naming the model's need and the devices that meet it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "model/model.h"

namespace tandem::apps {

struct AttentionNeeds {
  std::string model;  // the model's name, for messages
  bool windows = false, softcap = false;
};

// `context_length`: the longest sequence; a window of at least this length has no effect.
AttentionNeeds attention_needs(const model::ModelConfig& config, int context_length);

bool meets(const device::DeviceInfo& info, const AttentionNeeds& needs);

// Throws if the device does not meet the needs. The text names the devices among `all` that do.
void require_needs(const device::DeviceInfo& info, const AttentionNeeds& needs,
                   std::span<const device::DeviceInfo> all);

// A device of --attention. share 0: the share is computed from the bandwidth.
struct ListedDevice {
  std::string id;
  double share = 0;
  friend bool operator==(const ListedDevice&, const ListedDevice&) = default;
};

// Parses a list such as "cpu,xrt:0" or "cuda=0.5,xrt:0=0.3,cpu=0.2". Either all devices have a
// share or none has one. Shares are above 0, and their sum is 1.
std::vector<ListedDevice> listed_devices(const std::string& list);

// Returns the compute device if it meets the needs, otherwise the CPU, and every card that meets
// them.
std::vector<ListedDevice> automatic_devices(const AttentionNeeds& needs,
                                            const device::DeviceInfo& compute,
                                            std::span<const device::DeviceInfo> all);

}  // namespace tandem::apps
