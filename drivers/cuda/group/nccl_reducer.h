// SPDX-License-Identifier: Apache-2.0
//
// NcclReducer: sums over the GPUs of one process by NCCL, in their queues (contract:
// device/reducer.h).
//
// One grouped in-place ncclAllReduce on every GPU's stream, after its queued work; the host does
// not wait. Numerics: f32; NCCL orders the additions (ring or tree, by size and topology), equally
// at every call of a length while the communicators exist; all GPUs get the same bits. Cost: 2 (N -
// 1) / N of the bytes over every link. Errors: Error if communicators cannot be made; DeviceError
// if NCCL or a GPU fails. Then all GPUs of the group are lost, because their kernels may wait for
// each other; abort ends them. Threads: the units' submitting thread. Tested with a double of NCCL
// only, never with NCCL itself.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cuda/gpu/gpu.h"
#include "cuda/group/nccl_calls.h"
#include "device/reducer.h"

namespace tandem::cuda {

class NcclReducer final : public device::Reducer {
 public:
  // gpus: all different; they outlive this object.
  NcclReducer(std::vector<Gpu*> gpus, const NcclCalls& calls);
  ~NcclReducer() override;

  void all_reduce(std::span<const device::Slice> parts, std::size_t count) override;

 private:
  [[noreturn]] void lose(const std::string& reason);

  const std::vector<Gpu*> gpus_;
  const NcclCalls& calls_;
  std::vector<NcclCalls::Comm> comms_;  // [gpus]
};

}  // namespace tandem::cuda
