// SPDX-License-Identifier: Apache-2.0
//
// Chooses the compute devices: parses the ids of --compute, and joins several devices into one.
//
// Errors: Error("compute", ...) that names the ids, or the sizes of the model that are not
// divisible, and a choice that works. Threads: pure functions, except opening devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/registry.h"
#include "model/model.h"

namespace tandem::apps {

// Parses the ids in a list such as "cuda:0,cuda:1".
std::vector<std::string> compute_ids(const std::string& list);

// The id of the joint device of these devices.
std::string group_id(const std::vector<std::string>& ids);

// Whether an id of --attention names the joint device.
bool names_group(const std::vector<std::string>& ids, const std::string& id);
// Whether an id of --attention names one of its members.
bool names_member(const std::vector<std::string>& ids, const std::string& id);

// Throws if the model cannot be divided this way; `split`: "layers" or "tensor".
void check_group(const std::vector<std::string>& ids, const std::string& split,
                 const model::ModelConfig& config);

std::unique_ptr<device::Device> open_compute_group(const std::vector<std::string>& ids,
                                                   const std::string& split,
                                                   const model::ModelConfig& config,
                                                   const device::DeviceOptions& options);

}  // namespace tandem::apps
