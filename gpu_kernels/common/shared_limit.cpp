// SPDX-License-Identifier: Apache-2.0
//
// The table of kernels that have their limit.
#include "common/shared_limit.h"

#include <mutex>
#include <set>
#include <tuple>

namespace tandem::gpu_kernels {
namespace {

cudaError_t set_limit(const void* kernel, int device) {
  cudaFuncAttributes attributes{};
  int most = 0;
  cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  }
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              most - static_cast<int>(attributes.sharedSizeBytes));
}

cudaError_t set_carveout(const void* kernel, int) {
  constexpr int kAllOfIt = 100;  // per cent
  return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, kAllOfIt);
}

using Setting = cudaError_t (*)(const void* kernel, int device);

cudaError_t set_once(Setting setting, const void* kernel) {
  static std::mutex mutex;
  static std::set<std::tuple<Setting, const void*, int>> seen;
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  const std::tuple key(setting, kernel, device);
  const std::lock_guard lock(mutex);
  if (seen.contains(key)) return cudaSuccess;
  error = setting(kernel, device);
  if (error == cudaSuccess) seen.insert(key);
  return error;
}

}  // namespace

cudaError_t allow_most_shared(const void* kernel) { return set_once(set_limit, kernel); }

cudaError_t allow_and_prefer_most_shared(const void* kernel) {
  const cudaError_t error = allow_most_shared(kernel);
  return error == cudaSuccess ? set_once(set_carveout, kernel) : error;
}

}  // namespace tandem::gpu_kernels
