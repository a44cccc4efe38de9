// SPDX-License-Identifier: Apache-2.0
//
// CUB's DeviceSelect::If over counted places, and DeviceRadixSort of pairs.
#include "selection_peer.h"

#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

namespace tandem::bench {
namespace {

struct IsLarge {
  const float* values;
  float threshold;
  __device__ bool operator()(std::uint32_t place) const {
    return fabsf(values[place]) >= threshold;
  }
};

}  // namespace

cudaError_t cub_select_large(void* workspace, std::size_t* workspace_bytes, const float* values,
                             std::uint32_t num_values, float threshold, std::uint32_t* indices,
                             std::uint32_t* count, cudaStream_t stream) {
  return cub::DeviceSelect::If(workspace, *workspace_bytes,
                               thrust::counting_iterator<std::uint32_t>(0), indices, count,
                               static_cast<int>(num_values), IsLarge{values, threshold}, stream);
}

cudaError_t cub_sort_by_magnitude(void* workspace, std::size_t* workspace_bytes,
                                  std::uint32_t* keys, std::uint32_t* places,
                                  std::uint32_t num_values, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairsDescending(workspace, *workspace_bytes, keys,
                                                   keys + num_values, places, places + num_values,
                                                   static_cast<int>(num_values), 0, 31, stream);
}

}  // namespace tandem::bench
