// SPDX-License-Identifier: Apache-2.0
//
// DeviceLinks: the devices of a machine, and the links between every two of them.
//
// Either all devices have one kind and one memory size, or each device states both. OperatorGraph
// has a node's time per kind. Data between two devices takes ceil(bytes / (GB/s * 1000)) + latency,
// in microseconds. Threads: values. Errors: none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "planner/graph/operator_graph.h"

namespace tandem::planner {

// [num_nodes] The device of every node.
using Placement = std::vector<int>;

constexpr std::int64_t kNoMemoryLimit = std::numeric_limits<std::int64_t>::max();

struct DeviceLinks {
  int num_devices = 1;
  std::int64_t latency_ps = 0;
  double bytes_per_us = 1;                     // per direction, between any two devices
  std::int64_t memory_bytes = kNoMemoryLimit;  // of each device
  std::vector<int> kinds;                      // [num_devices]; empty: one kind
  std::vector<std::int64_t> memories;          // [num_devices]; empty: memory_bytes each

  int kind_of(int device) const {
    return kinds.empty() ? 0 : kinds[static_cast<std::size_t>(device)];
  }
  std::int64_t memory_of(int device) const {
    return memories.empty() ? memory_bytes : memories[static_cast<std::size_t>(device)];
  }
  bool has_memory_limit() const {
    return memories.empty() ? memory_bytes != kNoMemoryLimit
                            : std::ranges::min(memories) != kNoMemoryLimit;
  }
  // Returns whether the peak memory of every device is within its memory.
  bool fits(const std::vector<std::int64_t>& peaks) const {
    for (int device = 0; device < num_devices; ++device) {
      if (peaks[static_cast<std::size_t>(device)] > memory_of(device)) return false;
    }
    return true;
  }
  std::int64_t time_ps(const OperatorGraph& graph, int node, int device) const {
    return graph.time_ps(node, kind_of(device));
  }
  // The time on the link, without the latency.
  std::int64_t transfer_ps(std::int64_t bytes) const {
    constexpr double kMostUs = 1e11;  // longer than any makespan, and fits into 64 bits
    const double us = std::ceil(static_cast<double>(bytes) / bytes_per_us);
    return static_cast<std::int64_t>(std::min(us, kMostUs)) * kPicosecondsPerMicrosecond;
  }
  std::int64_t edge_ps(std::int64_t bytes) const { return transfer_ps(bytes) + latency_ps; }
};

}  // namespace tandem::planner
