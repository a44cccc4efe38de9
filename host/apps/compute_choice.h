// SPDX-License-Identifier: Apache-2.0
//
// Chooses the devices that compute: reads --compute as device ids, and joins several of them to one
// device.
//
// Errors: Error("compute", ...) naming the ids, or the numbers of the model that do not divide, and
// what would. Threads: pure functions, but for opening devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/registry.h"
#include "model/model.h"

namespace tandem::apps {

// The ids in a list such as "cuda:0,cuda:1".
std::vector<std::string> compute_ids(const std::string& list);

// The id of the device that these devices form together.
std::string group_id(const std::vector<std::string>& ids);

// Whether an id of --attention names the group of all of them.
bool names_group(const std::vector<std::string>& ids, const std::string& id);
// Whether an id of --attention names one of them.
bool names_member(const std::vector<std::string>& ids, const std::string& id);

// Throws if a model cannot be divided in this way; `split`: "layers" or "tensor".
void check_group(const std::vector<std::string>& ids, const std::string& split,
                 const model::ModelConfig& config);

std::unique_ptr<device::Device> open_compute_group(const std::vector<std::string>& ids,
                                                   const std::string& split,
                                                   const model::ModelConfig& config,
                                                   const device::DeviceOptions& options);

}  // namespace tandem::apps
