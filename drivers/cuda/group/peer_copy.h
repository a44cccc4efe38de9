// SPDX-License-Identifier: Apache-2.0
//
// CudaPeerCopy: copies between GPUs of one process, in their queues (contract: device/peer_copy.h).
//
// A copy is cudaMemcpyPeerAsync on the receiver's stream, between events of both queues. It uses
// NVLink or PCIe if the GPUs have peer access (the constructor enables it), else the runtime copies
// through host memory. Nothing waits on the host. Each call ends the open sequences of both queues,
// so a step becomes several sequences, each a graph of its own (queue/queue.h). Threads: the units'
// submitting thread. Errors: DeviceError; the GPU that it names is lost.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cuda/gpu/gpu.h"
#include "device/compute_unit.h"
#include "device/peer_copy.h"

namespace tandem::cuda {

// The GPUs of compute units; empty if one of them is not a CUDA unit, or if two are on one GPU.
std::vector<Gpu*> gpus_of(std::span<device::ComputeUnit* const> units);

class CudaPeerCopy final : public device::PeerCopy {
 public:
  explicit CudaPeerCopy(std::vector<Gpu*> gpus);

  void copy(int from_unit, const device::Slice& from, int to_unit, const device::Slice& to,
            std::size_t size_bytes) override;
  void order(int earlier, int later) override;

 private:
  Gpu& gpu(int unit) { return *gpus_[static_cast<std::size_t>(unit)]; }

  std::vector<Gpu*> gpus_;
  std::vector<std::unique_ptr<Event>> events_;  // [units]: an event on the GPU of each unit
};

}  // namespace tandem::cuda
