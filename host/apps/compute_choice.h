// SPDX-License-Identifier: Apache-2.0
//
// Chooses the compute devices: parses the ids of --compute, and joins several devices into one.
//
// Errors: Error("compute", ...) that names the ids, or the sizes of the model that are not
// divisible, and a choice that works. Threads: pure functions, except opening devices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/registry.h"
#include "model/model.h"

namespace tandem::apps {

struct ComputeDevice {
  std::string id;
  std::uint64_t memory_bytes = 0;  // most memory to use; 0: what the device has
  friend bool operator==(const ComputeDevice&, const ComputeDevice&) = default;
};

// Parses a list such as "cuda:0,cuda:1" or "cuda:0=8GiB,cpu".
std::vector<ComputeDevice> compute_devices(const std::string& list);
std::vector<std::string> ids_of(const std::vector<ComputeDevice>& devices);
std::vector<std::string> compute_ids(const std::string& list);  // without limits of memory
// The most bytes of a model of `model_bytes` that --split auto may put on the device `id`.
std::uint64_t most_planned_bytes(const std::vector<ComputeDevice>& devices, const std::string& id,
                                 std::uint64_t model_bytes);
// Limits need --split auto, and several devices.
void check_limits(const std::string& list, const std::string& split);

// The id of the joint device of these devices.
std::string group_id(const std::vector<std::string>& ids);

// Whether an id of --attention names the joint device.
bool names_group(const std::vector<std::string>& ids, const std::string& id);
// Whether an id of --attention names one of its members.
bool names_member(const std::vector<std::string>& ids, const std::string& id);

// Whether heads and feed-forward can be divided among `num_devices` devices.
bool is_divisible(int num_devices, const model::ModelConfig& config);

// Throws if the model cannot be divided this way; `split`: "layers" or "tensor".
void check_group(const std::vector<std::string>& ids, const std::string& split,
                 const model::ModelConfig& config);

std::unique_ptr<device::Device> open_compute_group(const std::vector<std::string>& ids,
                                                   const std::string& split,
                                                   const model::ModelConfig& config,
                                                   const device::DeviceOptions& options);

}  // namespace tandem::apps
