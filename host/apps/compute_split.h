// SPDX-License-Identifier: Apache-2.0
//
// --split auto: measures the compute devices. The planner then divides the model among them.
//
// Every device multiplies a matrix of the model's type with 1 row and with 64 rows. This takes some
// tens of milliseconds. Errors: Error("compute", ...) that names the ids, the limits or the bytes
// that do not fit. Threads: one; the devices must be idle.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/compute_choice.h"
#include "planner/split/split_plan.h"

namespace tandem::apps {

// What a plan needs to know besides the model's configuration.
struct SplitNeeds {
  std::string quantize = "none";       // the value of --quantize
  std::uint64_t kv_layer_bytes = 0;    // KV of one layer, on the device of the layer
  std::uint64_t activation_bytes = 0;  // activations, on every device
};

// Computes sizes from the configuration. The number of parameters tells whether the output
// projection is the embedding matrix.
planner::SplitModel split_model(const model::ModelConfig& config, const SplitNeeds& needs);

// The time of all products of the model on this device alone.
planner::DeviceCost measured_products(device::Device& device, const model::ModelConfig& config,
                                      const std::string& quantize);

// Measures the devices, plans, and opens the result: a group of devices, or one device.
std::unique_ptr<device::Device> open_planned(const std::vector<ComputeDevice>& devices,
                                             const model::ModelConfig& config,
                                             const SplitNeeds& needs,
                                             const device::DeviceOptions& options);

// Returns a line for the log: "cuda:0 has 20 layers, cpu has 12 layers: 8.1 ms for ...".
std::string plan_text(const planner::SplitPlan& plan,
                      const std::vector<planner::SplitDevice>& devices);

}  // namespace tandem::apps
