// SPDX-License-Identifier: Apache-2.0
//
// Which devices attend for a model: what it needs of them, and --attention as device ids.
//
// Pure functions of a model's configuration and of what devices say of themselves. Errors:
// Error("attention", ...) naming the model's need and the devices that meet it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "model/model.h"

namespace tandem::apps {

struct AttentionNeeds {
  std::string model;  // for messages
  bool windows = false, softcap = false;
};

// `context_length`: the longest sequence; a window that is no shorter is none.
AttentionNeeds attention_needs(const model::ModelConfig& config, int context_length);

bool meets(const device::DeviceInfo& info, const AttentionNeeds& needs);

// Throws where the device does not; `all`: the devices to name instead.
void require_needs(const device::DeviceInfo& info, const AttentionNeeds& needs,
                   std::span<const device::DeviceInfo> all);

// The ids in a list such as "cpu,xrt:0".
std::vector<std::string> listed_ids(const std::string& list);

// Every card that meets the needs, else the CPU.
std::vector<std::string> automatic_ids(const AttentionNeeds& needs,
                                       std::span<const device::DeviceInfo> all);

}  // namespace tandem::apps
