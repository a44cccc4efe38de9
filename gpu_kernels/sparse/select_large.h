// SPDX-License-Identifier: Apache-2.0
//
// Selection by a threshold: the places of a range with |value| >= threshold, ascending, and their
// values; and how many values reach each of several thresholds.
//
// A NaN reaches no threshold. An infinity reaches every threshold that is not NaN. Every number
// reaches a threshold of 0 or less. The result equals that of a plain loop in every run.
// Graph-safe: no allocation, no synchronisation; the caller owns `workspace`. Errors:
// cudaErrorInvalidValue for a range that does not lie in [0, 2^32 - 1], or more thresholds than
// kMostThresholds.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tandem::gpu_kernels {

// Three launches: mark the places in a bitmap and count them per tile of 8,192, sum the tiles,
// write the entries. Values are read once, and selected values a second time. Traffic: 4.25 bytes
// per value, 12 per entry, and the unused bytes of the sectors that hold entries. `values` must be
// aligned to 4 bytes; the range may begin anywhere.
struct SelectLarge {
  const float* values = nullptr;  // [end] at least
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  float threshold = 0;
  std::uint32_t max_entries = 0;
  std::uint32_t* indices = nullptr;  // [max_entries] counted from values[0]
  float* values_out = nullptr;       // [max_entries]
  // [1] device memory: the number of selected places, which can exceed max_entries; the caller
  // compares
  std::uint32_t* num_entries = nullptr;
  void* workspace = nullptr;  // select_large_workspace_bytes(), aligned to 4
};

std::size_t select_large_workspace_bytes(std::uint64_t begin, std::uint64_t end);

cudaError_t select_large(const SelectLarge& job, cudaStream_t stream);

// Writes the entries once more, for example to larger arrays. The workspace is what select_large()
// has left there for the same range; the threshold is not used. Values are not read again except
// where they are selected.
cudaError_t write_selected(const SelectLarge& job, cudaStream_t stream);

inline constexpr int kMostThresholds = 16;

// One launch, after a memset. Bytes: 4 per value, for all thresholds together.
struct CountLarge {
  const float* values = nullptr;  // [end] at least
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  float thresholds[kMostThresholds] = {};
  int num_thresholds = 0;
  std::uint32_t* counts = nullptr;  // [num_thresholds] device memory, written
};

cudaError_t count_large(const CountLarge& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
