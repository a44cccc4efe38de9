// SPDX-License-Identifier: Apache-2.0
//
// Reads the traits of a GPU from the driver.
#include "cuda/gpu/gpu.h"

namespace tandem::cuda {
namespace {

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, index) == cudaSuccess ? value : 0;
}

}  // namespace

GpuTraits gpu_traits(int device_index) {
  GpuTraits traits;
  traits.capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor, device_index) +
                      attribute(cudaDevAttrComputeCapabilityMinor, device_index);
  traits.num_processors = attribute(cudaDevAttrMultiProcessorCount, device_index);
  traits.clock_khz = attribute(cudaDevAttrClockRate, device_index);
  traits.shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device_index);
  traits.block_shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device_index);
  // kHz and bits, two transfers per clock
  traits.memory_bandwidth_bytes_per_s = 2e3 * attribute(cudaDevAttrMemoryClockRate, device_index) *
                                        attribute(cudaDevAttrGlobalMemoryBusWidth, device_index) /
                                        8;
  return traits;
}

MemoryState Gpu::memory() {
  activate();
  std::size_t free_bytes = 0, total_bytes = 0;
  health.check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
  return {free_bytes, total_bytes};
}

}  // namespace tandem::cuda
