// SPDX-License-Identifier: Apache-2.0
//
// MemoryPool: device memory or pinned host memory. CUDA gives it in large blocks, callers take
// ranges.
//
// Kernels read and write pinned blocks at the host's address, over the link. Ownership: a range is
// given back before the pool is destroyed. The pool of a lost GPU leaks its blocks, because work
// may still run. Threads: one. Cost: a search over ranges; cudaMalloc for a new block. No range is
// taken or freed while a step runs, so CUDA's stream-ordered pools would save nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "cuda/memory/memory_plan.h"
#include "cuda/runtime/handles.h"
#include "cuda/runtime/health.h"

namespace tandem::cuda {

class MemoryPool {
 public:
  MemoryPool(Health& health, Memory kind);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Takes the first free range by address; it begins at a multiple of 256 bytes. A large request
  // gets its own block. Throws Error that names the purpose, the size, and the free memory
  // (memory_plan.h); the pool is then unchanged.
  std::byte* take(std::size_t bytes, Purpose purpose);
  // Frees a range and joins it with free neighbours. An empty block goes back to CUDA, except one
  // of the usual size.
  void give(std::byte* range);  // nullptr is allowed

  // Whether [at, at + bytes) is inside a range of this pool.
  bool holds(const void* at, std::size_t bytes) const;

 private:
  struct Block {
    std::size_t bytes = 0;
    std::map<std::size_t, std::size_t> free;   // offset -> bytes
    std::map<std::size_t, std::size_t> taken;  // offset -> bytes
  };
  using Blocks = std::map<std::byte*, Block>;

  std::size_t usual_block() const;
  Blocks::iterator new_block(std::size_t bytes, Purpose purpose);
  std::byte* allocate(std::size_t bytes);
  void release(std::byte* block);
  std::byte* take_from(Blocks::iterator block, std::size_t bytes);

  Health& health_;
  const Memory kind_;
  Blocks blocks_;
};

// Owns a range of a pool and frees it in its destructor.
class PoolRange {
 public:
  PoolRange() = default;
  PoolRange(MemoryPool& pool, std::size_t bytes, Purpose purpose)
      : pool_(&pool), data_(pool.take(bytes, purpose)), bytes_(bytes) {}
  ~PoolRange() { reset(); }
  PoolRange(PoolRange&& other) noexcept { *this = std::move(other); }
  PoolRange& operator=(PoolRange&& other) noexcept {
    if (this == &other) return *this;
    reset();
    pool_ = std::exchange(other.pool_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  void reset() {
    if (pool_ != nullptr) pool_->give(data_);
    pool_ = nullptr;
    data_ = nullptr;
    bytes_ = 0;
  }
  std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  MemoryPool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tandem::cuda
