// SPDX-License-Identifier: Apache-2.0
//
// host_kv_bytes(): decides how much host memory KV pages get, before a model's weights are read.
//
// By default it is the memory that remains after the weights, the activations and a reserve of an
// eighth of the available memory (at least 256 MiB, at most a quarter). Demands that do not fit are
// refused, because Linux would kill the process when the pages are written. Pure function; threads:
// any.
// Errors: Error("memory", ...) naming the sizes and the options that change them.
#pragma once

#include <cstdint>

#include "apps/runtime_options.h"
#include "common/available_memory.h"
#include "device/attention_unit.h"
#include "model/model.h"

namespace tandem::apps {

// Bytes in host memory, of all units there together.
struct HostDemand {
  std::uint64_t weights = 0;    // lower bound; 0: the weights are on another device
  std::uint64_t computing = 0;  // upper bound: packed weights, activations, logits
  std::uint64_t kv_asked = 0;   // value of --kv-memory; 0: the remaining memory
  std::uint64_t kv_least = 0;   // what a short request needs; 0: no unit is in host memory
};

std::uint64_t host_kv_bytes(const AvailableMemory& memory, const HostDemand& demand);

// The least that a model's weights take in the types that --quantize gives them.
std::uint64_t least_weight_bytes(const model::ModelConfig& config, const std::string& quantize);

// The bytes of a page of all layers, without a unit's padding.
std::uint64_t kv_page_bytes(const device::AttentionGeometry& geometry);

}  // namespace tandem::apps
