// SPDX-License-Identifier: Apache-2.0
//
// Gpu: the common parts of the units of one GPU: health, memory and queue.
//
// The constructor makes the GPU's context; memory is allocated at first need. Ownership: the
// device's; units borrow it and must be destroyed before. Threads: the units' submitting thread;
// health from any. Errors: DeviceError.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "cuda/memory/memory_plan.h"
#include "cuda/memory/memory_pool.h"
#include "cuda/queue/queue.h"
#include "cuda/runtime/health.h"

namespace tandem::cuda {

struct GpuTraits {
  int capability = 0;  // 90: compute capability 9.0
  int num_processors = 1;
  int clock_khz = 0;                        // clock of the multiprocessors; 0: unknown
  int shared_bytes = 0;                     // shared memory of a multiprocessor; 0: unknown
  int block_shared_bytes = 0;               // the part of it that one block can have; 0: unknown
  double memory_bandwidth_bytes_per_s = 0;  // from the data sheet; 0: unknown
};

inline constexpr int kLeastCapability = 80;

GpuTraits gpu_traits(int device_index);

// How a path of kernels is chosen (kernel_choice.h).
enum class KernelPolicy { kGeneric, kHopper, kTrial };
struct GpuKernels {
  KernelPolicy policy = KernelPolicy::kGeneric;
  std::function<void(const std::string&)> note = {};  // receives what was chosen; may be empty
  bool e4m3_rows = false;                             // ProductOptions::e4m3_rows
};

struct Gpu {
  Gpu(int device_index, const std::string& id, GpuKernels kernels = {})
      : index(device_index),
        health(id),
        traits(gpu_traits(device_index)),
        kernel_policy(kernels.policy),
        e4m3_rows(kernels.e4m3_rows),
        receive_note(std::move(kernels.note)),
        device_memory(health, Memory::kDevice),
        pinned_memory(health, Memory::kPinned),
        queue(activated(), health, device_memory, pinned_memory) {}

  // Makes this GPU the current device of the calling thread.
  void activate() { health.check(cudaSetDevice(index), "choosing the device"); }
  int activated() {
    activate();
    return index;
  }
  MemoryState memory();
  void note(const std::string& line) const {
    if (receive_note) receive_note(line);
  }

  const int index;
  Health health;
  const GpuTraits traits;
  const KernelPolicy kernel_policy;
  const bool e4m3_rows;
  const std::function<void(const std::string&)> receive_note;
  MemoryPool device_memory, pinned_memory;
  Queue queue;
};

}  // namespace tandem::cuda
