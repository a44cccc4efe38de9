// SPDX-License-Identifier: Apache-2.0
//
// NcclReducer: sums over the GPUs of one process by NCCL, in their queues (contract:
// device/reducer.h).
//
// One grouped ncclAllReduce, in place, on every GPU's stream behind its queue; nothing waits on the
// host. Numerics: f32; the order of additions is NCCL's (ring or tree by size and topology), the
// same at every call of a length while the communicators live, and all GPUs get the same bits.
// Cost: 2 (N - 1) / N of the bytes over every link. Errors: Error where communicators cannot be
// made; DeviceError when NCCL or a GPU failed, and then all GPUs of the group are lost, for their
// kernels may wait for each other for ever: abort ends them. Threads: the units' submitting thread.
// NCCL has not been run by this code yet: it was tested on a stand-in.
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
  // gpus: distinct, and outlive it.
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
