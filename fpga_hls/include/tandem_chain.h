// SPDX-License-Identifier: Apache-2.0
//
// Storage of a stream's values: a chain of fixed blocks. One producer extends it and one consumer
// follows, without a lock.
//
// A drained block returns to the producer. The first block has 1 KiB, because many streams exist
// briefly and hold little; the others have 4 KiB. C++11.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "tandem_macros_begin.h"

// Exists in the checked copy of a kernel: the card may mark what is missing in a block; 0 bytes: it
// is about to be freed.
extern "C" __attribute__((weak, visibility("default"))) void tandem_stream_block(
    const void* block, unsigned long bytes);

namespace tandem_hls {

inline void note_block(const void* block, std::size_t bytes) {
  if (tandem_stream_block) tandem_stream_block(block, bytes);
}
inline void free_block(void* block) {
  note_block(block, 0);
  std::free(block);
}

// An unbounded queue of values for one producer and one consumer: a chain of fixed blocks; a
// drained block returns to the producer.
template <typename T>
class Chain {
 public:
  Chain() = default;
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;
  // Destroys the `held` values that are still in the queue.
  void drop(std::uint64_t held) {
    for (; held != 0; --held) (void)take();
    while (first_ != nullptr) {
      Block* const next = first_->next.load(std::memory_order_relaxed);
      free_block(first_);
      first_ = next;
    }
    free_block(spare_.exchange(nullptr));
  }

  template <typename Value>
  void put(Value&& value) {
    if (put_at_ == put_end_) extend();
    new (static_cast<void*>(put_at_)) T(std::forward<Value>(value));
    ++put_at_;
  }
  T take() {
    if (take_at_ == take_end_) advance();
    T* const slot = take_at_++;
    const Emptied emptied{slot};
    return std::move(*slot);
  }
  // The value that take() would return.
  const T& front() {
    if (take_at_ == take_end_) advance();
    return *take_at_;
  }

 private:
  struct Emptied {
    T* slot;
    ~Emptied() { slot->~T(); }
  };
  struct Block {
    std::atomic<Block*> next;
    T* end;
  };
  static constexpr std::size_t kHeader = alignof(T) < sizeof(Block) ? sizeof(Block) : alignof(T);
  static constexpr std::size_t kCount = sizeof(T) >= 1024 ? 4 : 4096 / sizeof(T);
  static constexpr std::size_t kFirstCount = kHeader + sizeof(T) > 1024
                                                 ? 1
                                                 : (1024 - kHeader) / sizeof(T);

  static T* slots(Block* block) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(block) + kHeader);
  }
  static Block* make_block(std::size_t count) {
    const std::size_t bytes = kHeader + count * sizeof(T);
    void* place = nullptr;
    if (alignof(T) <= alignof(std::max_align_t)) {
      place = std::malloc(bytes);
    } else if (::posix_memalign(&place, alignof(T), bytes) != 0) {
      place = nullptr;
    }
    if (place == nullptr) throw std::bad_alloc();
    Block* const block = new (place) Block;
    block->end = slots(block) + count;
    note_block(block, bytes);
    return block;
  }

  // A separate function, so that put() and take() are small enough to be inlined.
  __attribute__((noinline)) void extend() {
    Block* fresh = spare_.exchange(nullptr, std::memory_order_acquire);
    if (fresh == nullptr) fresh = make_block(last_ == nullptr ? kFirstCount : kCount);
    fresh->next.store(nullptr, std::memory_order_relaxed);
    if (last_ == nullptr) {
      entry_.store(fresh, std::memory_order_release);
    } else {
      last_->next.store(fresh, std::memory_order_release);
    }
    last_ = fresh;
    put_at_ = slots(fresh);
    put_end_ = fresh->end;
  }

  __attribute__((noinline)) void advance() {
    Block* const used = first_;
    first_ = used == nullptr ? entry_.load(std::memory_order_acquire)
                             : used->next.load(std::memory_order_acquire);
    if (used != nullptr) free_block(spare_.exchange(used, std::memory_order_release));
    take_at_ = slots(first_);
    take_end_ = first_->end;
  }

  // The producer's pointer; the consumer's is after the padding.
  T* put_at_ = nullptr;
  T* put_end_ = nullptr;
  Block* last_ = nullptr;
  std::atomic<Block*> entry_{nullptr};
  std::atomic<Block*> spare_{nullptr};
  char pad_[64];
  T* take_at_ = nullptr;
  T* take_end_ = nullptr;
  Block* first_ = nullptr;
};

}  // namespace tandem_hls

#include "tandem_macros_end.h"
