// SPDX-License-Identifier: Apache-2.0
//
// DeviceSheet: public figures of devices and links, each with its source.
//
// The figures are those of the vendor. `reached` holds the shares of them that software reaches.
// These shares are assumptions (README.md) and can be changed. cost_of() turns a sheet into a cost
// table like a measured one. Prices are assumed list prices per hour. Threads: values and pure
// functions. Errors: Error("devices", ...) for an unknown name, with the most similar known name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "planner/cost/cost_model.h"
#include "planner/hardware/model_shape.h"

namespace tandem::planner {

enum class DeviceClass { kGpu, kCard, kCpu };

// The shares of the sheet's figures that software reaches, 0..1.
struct Reached {
  double weight_bandwidth = 0.85;  // dense layers with few rows
  double dense_ops = 0.6;          // dense layers with many rows
  double kv_bandwidth = 0.8;       // attention
  double attention_ops = 0.4;
  friend bool operator==(const Reached&, const Reached&) = default;
};

struct DeviceSheet {
  std::string name;
  DeviceClass device_class = DeviceClass::kGpu;
  double memory_bytes = 0;
  double bytes_per_s = 0;
  double f16_ops_per_s = 0;  // dense, multiplications plus additions
  double i8_ops_per_s = 0;
  double idle_w = 0, busy_w = 0;
  std::string link;           // the link to the host, by name
  double launch_s = 0;        // to launch the work of one layer outside a graph
  int rows_per_read = 1;      // query rows of one sequence that share a read of its KV
  double price_per_hour = 0;  // USD, assumed
  Reached reached;
  std::string source;
};

struct LinkSheet {
  std::string name;
  double bytes_per_s = 0;  // one direction, before protocol overhead
  double latency_s = 0;    // one way, small message
  std::string source;

  double seconds(double bytes) const { return latency_s + bytes / bytes_per_s; }
};

std::span<const DeviceSheet> device_presets();
std::span<const LinkSheet> link_presets();
// "cpu:200" is a CPU whose memory reads 200 GB/s.
DeviceSheet device_preset(std::string_view name);
const LinkSheet& link_preset(std::string_view name);

// How a model is stored and run.
struct Precision {
  double weight_bytes = 2;  // per parameter
  DType kv_dtype = DType::kF16;
};

bool kv_has_8_bits(DType kv_dtype);
double kv_bytes_per_token(const ModelShape& model, DType kv_dtype);  // all layers

// `count` devices that divide every matrix; `peers` is the link between two of them.
struct ComputeGroup {
  DeviceSheet sheet;
  int count = 1;
  LinkSheet peers;
};

// The cost of dense layers, and of attention in the group's own memory. Each layer has two sums
// over the group.
DeviceCost cost_of(const ComputeGroup& group, const ModelShape& model, const Precision& precision);
// The cost of an attention unit behind `link`.
DeviceCost cost_of(const DeviceSheet& unit, const LinkSheet& link, const ModelShape& model,
                   const Precision& precision);

}  // namespace tandem::planner
