// SPDX-License-Identifier: Apache-2.0
//
// Devices of one kind, and the links between every two of them.
//
// An edge between devices costs ceil(bytes / (GB/s * 1000)) + latency, in microseconds.
// Threads: values. Errors: none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "planner/graph/operator_graph.h"

namespace tandem::planner {

// [num_nodes] the device of every node, from 0.
using Placement = std::vector<int>;

struct DeviceLinks {
  int num_devices = 1;
  std::int64_t latency_ps = 0;
  double bytes_per_us = 1;  // in each direction of every two devices
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();  // of each device

  bool has_memory_limit() const { return memory_bytes != std::numeric_limits<std::int64_t>::max(); }
  // Of the link, without the latency.
  std::int64_t transfer_ps(std::int64_t bytes) const {
    constexpr double kMostUs = 1e11;  // beyond every makespan, and within 64 bits
    const double us = std::ceil(static_cast<double>(bytes) / bytes_per_us);
    return static_cast<std::int64_t>(std::min(us, kMostUs)) * kPicosecondsPerMicrosecond;
  }
  std::int64_t edge_ps(std::int64_t bytes) const { return transfer_ps(bytes) + latency_ps; }
};

}  // namespace tandem::planner
