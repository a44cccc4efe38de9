// SPDX-License-Identifier: Apache-2.0
//
// The tests' one run on the first GPU.
#include "gpu_kernels/device_array.h"

namespace tandem::gpu_kernels {

std::string start_run(int) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return std::string("no GPU can be used: ") + cudaGetErrorString(error);
  return count > 0 ? "" : "there is no GPU";
}

std::vector<int> runs() { return {0}; }

std::string name_of_run(int) { return "OnDevice"; }

bool runs_path(KernelPath path) { return path == KernelPath::kGeneric || code_capability() >= 90; }

}  // namespace tandem::gpu_kernels
