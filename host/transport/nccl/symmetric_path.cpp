// SPDX-License-Identifier: Apache-2.0
//
// The words of a window are zero before any rank can reach it: registration is collective.
#include "transport/nccl/symmetric_path.h"

#include <atomic>
#include <string>

#include "transport/nccl/staging.h"
#include "transport/nccl/symmetric_launch.h"

namespace tandem::transport::nccl {
namespace {

constexpr int kSymmetricWindow = 1;  // NCCL_WIN_COLL_SYMMETRIC

void check_symmetric(const NcclLibrary& library, ncclComm_t comm, int world) {
  if (!has_symmetric_kernel()) {
    throw Error("transport",
                "this build cannot use symmetric windows: configure it with nvcc and the headers "
                "of NCCL 2.28 or later (nccl_device.h)");
  }
  if (library.window_register == nullptr || library.team_lsa == nullptr) {
    throw Error("transport", "libnccl.so.2 is too old: symmetric windows need NCCL 2.28 or later");
  }
  const NcclTeam team = library.team_lsa(comm);
  if (team.num_ranks == world) return;
  throw Error("transport",
              "symmetric windows need all " + std::to_string(world) +
                  " ranks within reach of loads and stores (one node with NVLink or peer access); "
                  "NCCL finds " +
                  std::to_string(team.num_ranks));
}

}  // namespace

SymmetricPath::SymmetricPath(const NcclLibrary& library, ncclComm_t comm, SymmetricLayout layout,
                             const std::function<void()>& wait_until_ready)
    : library_(library),
      comm_(comm),
      layout_(layout),
      sent_(static_cast<std::size_t>(layout.world)),
      received_(static_cast<std::size_t>(layout.world)) {
  check_symmetric(library_, comm_, layout_.world);
  try {
    make_window(wait_until_ready);
    const std::size_t most = 2 * static_cast<std::size_t>(layout_.world);
    check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&transfers_), most * sizeof(*transfers_),
                             cudaHostAllocDefault),
               "taking pinned memory");
    check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&is_ended_), sizeof(*is_ended_),
                             cudaHostAllocDefault),
               "taking pinned memory");
    *is_ended_ = 0;
  } catch (...) {
    leave();
    release();
    throw;
  }
}

void SymmetricPath::make_window(const std::function<void()>& wait_until_ready) {
  const auto check_nccl = [&](ncclResult_t result, const char* what) {
    if (result == ncclSuccess || result == ncclInProgress) return;
    throw Error("transport", std::string(what) + ": " + library_.error_string(result));
  };
  check_nccl(library_.mem_alloc(&memory_, layout_.window_bytes()), "NCCL gives no memory");
  check_cuda(cudaMemset(memory_, 0, layout_.window_bytes()), "clearing a window");
  check_nccl(
      library_.window_register(comm_, memory_, layout_.window_bytes(), &window_, kSymmetricWindow),
      "NCCL registers no window");
  wait_until_ready();
  if (window_ == nullptr) {
    throw Error("transport",
                "NCCL registers no symmetric window here: it needs GPUs with virtual memory "
                "management, and NCCL_CUMEM_ENABLE must not be 0");
  }
}

SymmetricPath::~SymmetricPath() { release(); }

void SymmetricPath::release() noexcept {
  cudaFreeHost(transfers_);
  cudaFreeHost(is_ended_);
  if (memory_ != nullptr) library_.mem_free(memory_);
}

void SymmetricPath::fill(SymmetricTransfer* to, const std::vector<Part>& parts,
                         std::vector<std::uint64_t>& pieces) const {
  for (const Part& part : parts) {
    std::uint64_t& before = pieces[static_cast<std::size_t>(part.peer)];
    *to++ = {part.peer, part.begin, part.bytes, before};
    before += SymmetricLayout::pieces_of(part.bytes);
  }
}

void SymmetricPath::enqueue(std::byte* staging, const std::vector<Part>& sends,
                            const std::vector<Part>& receives, cudaStream_t stream) {
  fill(transfers_, sends, sent_);
  fill(transfers_ + sends.size(), receives, received_);
  SymmetricMove move;
  move.layout = layout_;
  move.window = window_;
  move.staging = staging;
  move.sends = transfers_;
  move.receives = transfers_ + sends.size();
  move.num_sends = static_cast<int>(sends.size());
  move.num_receives = static_cast<int>(receives.size());
  move.is_ended = is_ended_;
  check_cuda(launch_symmetric_move(move, stream), "starting the kernel of a move");
}

void SymmetricPath::end_kernels() noexcept {
  std::atomic_ref<std::uint32_t>(*is_ended_).store(1, std::memory_order_release);
}

void SymmetricPath::leave() noexcept {
  if (window_ == nullptr) return;
  library_.window_deregister(comm_, window_);
  window_ = nullptr;
}

}  // namespace tandem::transport::nccl
