// SPDX-License-Identifier: Apache-2.0
//
// SymmetricPath: moves the transfers of a round through windows of symmetric memory (NCCL 2.28 and
// later) in place of grouped sends and receives.
//
// The host still starts every move; the device then stores into its peers' memory and waits for
// theirs. All ranks must reach each other by loads and stores: one node with NVLink or peer access.
// Cost: one kernel per move, no group launch; 512 KiB of device memory per rank of the group.
// Ownership: the window, and the memory behind it; the communicator must outlive leave(). Threads:
// one, but end_kernels() from any. Errors: Error if windows are not supported; DeviceError.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "common/nccl_library.h"
#include "transport/nccl/symmetric_move.h"

namespace tandem::transport::nccl {

class SymmetricPath {
 public:
  // Collective. `wait_until_ready` polls the communicator, which is not blocking; it throws.
  SymmetricPath(const NcclLibrary& library, ncclComm_t comm, SymmetricLayout layout,
                const std::function<void()>& wait_until_ready);
  ~SymmetricPath();
  SymmetricPath(const SymmetricPath&) = delete;
  SymmetricPath& operator=(const SymmetricPath&) = delete;

  // Bytes at `begin` of the staging buffer, to or from a peer. The previous move must have ended.
  struct Part {
    int peer;
    std::size_t begin, bytes;
  };
  void enqueue(std::byte* staging, const std::vector<Part>& sends,
               const std::vector<Part>& receives, cudaStream_t stream);

  // Ends waiting kernels soon. The path cannot be used afterwards.
  void end_kernels() noexcept;
  // Releases the window. Call it before the communicator ends, while no kernel runs.
  void leave() noexcept;

 private:
  void make_window(const std::function<void()>& wait_until_ready);
  void release() noexcept;
  void fill(SymmetricTransfer* to, const std::vector<Part>& parts,
            std::vector<std::uint64_t>& pieces) const;

  const NcclLibrary& library_;
  const ncclComm_t comm_;
  const SymmetricLayout layout_;
  void* memory_ = nullptr;
  NcclWindow window_ = nullptr;
  SymmetricTransfer* transfers_ = nullptr;      // pinned: [2 * world]
  std::uint32_t* is_ended_ = nullptr;           // pinned
  std::vector<std::uint64_t> sent_, received_;  // [world] pieces so far
};

}  // namespace tandem::transport::nccl
