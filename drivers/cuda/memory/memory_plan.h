// SPDX-License-Identifier: Apache-2.0
//
// Divides a GPU's memory: a pure function of the free memory and the demands.
//
// Weights, activations and workspace come first. A reserve stays free for the runtime, libraries
// and other processes. KV pages get the requested size, or all remaining memory. If a part does not
// fit, an Error names it, its size, the free memory, and the option that lowers it; the plan
// allocates nothing. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tandem::cuda {

struct MemoryState {
  std::uint64_t free_bytes = 0, total_bytes = 0;  // as the driver says now
};

struct MemoryDemand {
  std::uint64_t to_come_bytes = 0;    // weights and activations that are not allocated yet
  std::uint64_t workspace_bytes = 0;  // staging and scratch of the device's queue, not yet taken
  std::uint64_t kv_bytes = 0;         // 0: all remaining memory
  std::uint64_t page_bytes = 1;       // of all layers
  std::uint64_t max_pages = 0;        // 0: no bound
};

struct MemoryPlan {
  std::uint64_t reserve_bytes = 0;
  std::uint32_t kv_pages = 0;
  std::uint64_t kv_bytes = 0;
};

// The memory that stays free: a 32nd of the total, but at least 64 MiB and at most 1 GiB. Contexts
// of libraries, kernels that are loaded late, and fragmentation use it.
std::uint64_t memory_reserve(std::uint64_t total_bytes);

// `device` begins the messages: "cuda:0".
MemoryPlan plan_memory(const MemoryState& state, const MemoryDemand& demand,
                       const std::string& device);

// The use of an allocation. From it follows the advice in an error's text.
enum class Purpose { kWeights, kActivations, kWorkspace, kPages, kStaging };

// "cuda:0: weights need 12.5 GiB of device memory, 3.1 GiB are free; ..."
std::string shortage(const std::string& device, Purpose purpose, std::uint64_t needed_bytes,
                     std::uint64_t free_bytes);

}  // namespace tandem::cuda
