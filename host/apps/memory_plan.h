// SPDX-License-Identifier: Apache-2.0
//
// host_kv_bytes: decides how much host memory KV pages get, before a model's weights are read.
//
// The default is the memory that remains after the weights, the activations and a reserve. The
// reserve is an eighth of the available memory, at least 256 MiB and at most a quarter. Demands
// that do not fit are refused, because Linux would kill the process when it writes the pages. Pure
// function; threads: any. Errors: Error("memory", ...) with the sizes and the options that change
// them.
#pragma once

#include <cstdint>

#include "apps/runtime_options.h"
#include "common/available_memory.h"
#include "device/attention_unit.h"
#include "model/model.h"

namespace tandem::apps {

// Bytes of host memory, summed over all units there.
struct HostDemand {
  std::uint64_t weights = 0;    // lower bound; 0: the weights are on another device
  std::uint64_t computing = 0;  // upper bound: packed weights, activations, logits
  std::uint64_t kv_asked = 0;   // value of --kv-memory; 0: the remaining memory
  std::uint64_t kv_least = 0;   // for one short request; 0: no unit is in host memory
};

std::uint64_t host_kv_bytes(const AvailableMemory& memory, const HostDemand& demand);

// A lower bound of a model's weight bytes with the types of --quantize.
std::uint64_t least_weight_bytes(const model::ModelConfig& config, const std::string& quantize);

// The bytes of one page over all layers, without the padding of a unit.
std::uint64_t kv_page_bytes(const device::AttentionGeometry& geometry);

}  // namespace tandem::apps
