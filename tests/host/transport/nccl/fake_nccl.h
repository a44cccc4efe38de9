// SPDX-License-Identifier: Apache-2.0
//
// What tests change and look at in the fake NCCL. Threads: any, but for fake_nccl().
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <functional>

#include "common/nccl_library.h"

namespace tandem {

NcclLibrary& fake_nccl();  // its functions may be replaced

struct FakeCounts {
  std::atomic<int> groups = 0;   // of sends and receives
  std::atomic<int> windows = 0;  // registered and not given back
  std::atomic<int> kernels = 0;  // of symmetric moves
};
FakeCounts& fake_counts();

// The memory of a rank behind an ncclWindow_t.
std::byte* fake_window_memory(void* window, int rank);

// `step` is called again and again until it returns true. Then the stream's next step begins.
void fake_enqueue(cudaStream_t stream, std::function<bool()> step);

}  // namespace tandem
