// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the kernel over symmetric windows: a thread per block runs the kernel's own
// protocol on host memory.
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "host/transport/nccl/fake_nccl.h"
#include "transport/nccl/symmetric_launch.h"

namespace tandem::transport::nccl {
namespace {

class HostBlock {
 public:
  explicit HostBlock(const SymmetricMove& move) : move_(move) {}

  std::byte* memory(int rank, std::uint64_t offset) const {
    return fake_window_memory(move_.window, rank) + offset;
  }
  bool wait(std::uint64_t offset, std::uint64_t value) const {
    const auto word = word_at(move_.layout.rank, offset);
    while (word.load(std::memory_order_acquire) < value) {
      const std::atomic_ref ended(*const_cast<std::uint32_t*>(move_.is_ended));
      if (ended.load() != 0) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }
  void raise(int rank, std::uint64_t offset, std::uint64_t value) const {
    word_at(rank, offset).store(value, std::memory_order_release);
  }
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) const {
    std::memcpy(to, from, bytes);
  }

 private:
  std::atomic_ref<std::uint64_t> word_at(int rank, std::uint64_t offset) const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory(rank, offset)));
  }

  const SymmetricMove& move_;
};

struct Kernel {
  SymmetricMove move;
  std::atomic<int> running{0};
  std::vector<std::jthread> blocks;

  void start() {
    running = move.num_sends + move.num_receives;
    for (int at = 0; at < move.num_sends + move.num_receives; ++at) {
      blocks.emplace_back([this, at] {
        HostBlock block(move);
        if (at < move.num_sends) {
          push(block, move.layout, move.sends[at], move.staging);
        } else {
          pull(block, move.layout, move.receives[at - move.num_sends], move.staging);
        }
        --running;
      });
    }
  }
};

}  // namespace

bool has_symmetric_kernel() { return true; }

cudaError_t launch_symmetric_move(const SymmetricMove& move, cudaStream_t stream) {
  ++fake_counts().kernels;
  auto kernel = std::make_shared<Kernel>();
  kernel->move = move;
  fake_enqueue(stream, [kernel, is_started = false]() mutable {
    if (!is_started) kernel->start();
    is_started = true;
    return kernel->running == 0;
  });
  return cudaSuccess;
}

}  // namespace tandem::transport::nccl
