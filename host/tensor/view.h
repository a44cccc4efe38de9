// SPDX-License-Identifier: Apache-2.0
//
// Placement: the memory of borrowed data, and the time when its contents are ready.
//
// Views of tensors carry a placement, so device memory can be passed on without a copy. The default
// is plain host memory. A queue is an opaque handle of the device (CUDA: a cudaStream_t). The
// contents are ready when all work that was submitted to the queue so far has ended; null: they are
// ready now. Ownership: borrows the device's name and the queue. Threads: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/error.h"

namespace tandem {

enum class Memory : std::uint8_t {
  kHost,    // pageable memory of the host
  kPinned,  // page-locked memory of the host, which a device reads directly
  kDevice,  // memory of `Placement::device`
};

struct Placement {
  Memory memory = Memory::kHost;
  std::string_view device;  // its id, as "cuda:0"; empty for kHost
  void* queue = nullptr;

  // Whether the host may read and write it now.
  bool on_host() const { return memory != Memory::kDevice && queue == nullptr; }
};

// For code that reads or writes on the host: throws Error if `placement` forbids it. `module`
// and `what` name the caller and the array: "collectives", "the values".
inline void require_host(const Placement& placement, const char* module, const char* what) {
  if (placement.on_host()) return;
  const std::string array(what);
  if (placement.memory == Memory::kDevice) {
    throw Error(module, array + " lie in memory of " + std::string(placement.device) +
                            ", which the host cannot read; copy them to host memory and pass a "
                            "view of the copy");
  }
  throw Error(module, array +
                          " are ready only after the work of a queue; wait for the queue, then "
                          "pass the view without it");
}

}  // namespace tandem
