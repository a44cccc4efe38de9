// SPDX-License-Identifier: Apache-2.0
//
// --split auto: measures the compute devices, and shares a model among them by the planner.
//
// Every device multiplies a matrix of the model's type, with one row and with 64, for some tens of
// milliseconds. Errors: Error("compute", ...) that names ids, limits or the bytes that do not fit.
// Threads: one; the devices must be idle.
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
  std::string quantize = "none";       // as --quantize
  std::uint64_t kv_layer_bytes = 0;    // of the KV that lies with a layer
  std::uint64_t activation_bytes = 0;  // on every device
};

// Sizes from the configuration. Whether the output projection is the embedding follows from the
// number of parameters.
planner::SplitModel split_model(const model::ModelConfig& config, const SplitNeeds& needs);

// The time of all products of the model on this device alone.
planner::DeviceCost measured_products(device::Device& device, const model::ModelConfig& config,
                                      const std::string& quantize);

// Opens what is planned: a group, or one device.
std::unique_ptr<device::Device> open_planned(const std::vector<ComputeDevice>& devices,
                                             const model::ModelConfig& config,
                                             const SplitNeeds& needs,
                                             const device::DeviceOptions& options);

// "cuda:0 has 20 layers, cpu 12: 8.1 ms per step, in order 14.2 ms": a line for the log.
std::string plan_text(const planner::SplitPlan& plan,
                      const std::vector<planner::SplitDevice>& devices);

}  // namespace tandem::apps
