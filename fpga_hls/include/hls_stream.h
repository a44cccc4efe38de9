// SPDX-License-Identifier: Apache-2.0
//
// hls::stream for software emulation: a first-in first-out channel between two stages of a kernel.
//
// hls::stream<T, Depth> holds at most Depth values, as the hardware's FIFO does, so a design that
// overfills or starves a channel fails here too instead of deadlocking on the card; hls::stream<T>
// (depth left to a pragma, which a C++ compiler does not see) has no bound. One producer and one
// consumer, which may be the same thread (stages called one after the other) or two. A write to a
// full stream, or a read from an empty one, waits for the other side; where nothing comes within
// stream_patience_ms() it throws hls::stream_stuck naming the stream. Cost: a few nanoseconds per
// value, no lock, no allocation when bounded. Source: Vitis HLS user guide (UG1399), "HLS Stream
// Library". C++14.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace hls {

struct stream_stuck : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How long a stage waits for the other side of a stream before the design counts as deadlocked.
inline std::atomic<int>& stream_patience_ms() {
  static std::atomic<int> patience(2000);
  return patience;
}

namespace detail {

template <typename Ready>
inline void wait_for_stream(const Ready& ready, const char* what, const std::string& name,
                            std::size_t depth) {
  for (int spin = 0; spin < 1000; ++spin) {
    if (ready()) return;
  }
  const auto give_up =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(stream_patience_ms().load());
  while (!ready()) {
    if (std::chrono::steady_clock::now() >= give_up) {
      throw stream_stuck(std::string("stream '") + name + "' " + what +
                         (depth != 0 ? " (depth " + std::to_string(depth) + ")" : std::string()) +
                         ": the stage on its other side does not run; the design would deadlock");
    }
    std::this_thread::yield();
  }
}

// A ring for one producer and one consumer over storage that its owner holds. Indices run modulo
// 2 * depth, so that full and empty differ.
template <typename T>
class BoundedFifo {
 public:
  BoundedFifo(T* slots, std::size_t depth) : slots_(slots), depth_(depth) {}

  std::size_t depth() const { return depth_; }
  bool can_read() const {
    return head_.load(std::memory_order_relaxed) != tail_.load(std::memory_order_acquire);
  }
  bool can_write() const { return size() < depth_; }
  std::size_t size() const {
    const std::size_t head = head_.load(std::memory_order_acquire);
    const std::size_t tail = tail_.load(std::memory_order_acquire);
    return tail >= head ? tail - head : tail + 2 * depth_ - head;
  }
  void pop(T& value) {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    value = slots_[head < depth_ ? head : head - depth_];
    head_.store(head + 1 == 2 * depth_ ? 0 : head + 1, std::memory_order_release);
  }
  void push(const T& value) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    slots_[tail < depth_ ? tail : tail - depth_] = value;
    tail_.store(tail + 1 == 2 * depth_ ? 0 : tail + 1, std::memory_order_release);
  }

 private:
  T* slots_;  // [depth]
  std::size_t depth_;
  std::atomic<std::size_t> head_{0};  // moved by the consumer
  std::atomic<std::size_t> tail_{0};  // moved by the producer
};

// A chain of fixed blocks for one producer and one consumer; grows without bound.
template <typename T>
class UnboundedFifo {
 public:
  UnboundedFifo() : first_(make_block()), last_(first_) {}
  ~UnboundedFifo() {
    while (first_ != nullptr) {
      Block* next = first_->next.load(std::memory_order_relaxed);
      drop_block(first_);
      first_ = next;
    }
  }
  UnboundedFifo(const UnboundedFifo&) = delete;
  UnboundedFifo& operator=(const UnboundedFifo&) = delete;

  bool can_read() const {
    return read_.load(std::memory_order_relaxed) != written_.load(std::memory_order_acquire);
  }
  std::size_t size() const {
    return written_.load(std::memory_order_acquire) - read_.load(std::memory_order_acquire);
  }
  void pop(T& value) {
    const std::size_t index = read_.load(std::memory_order_relaxed);
    if (index != 0 && index % kBlock == 0) {
      Block* used = first_;
      first_ = used->next.load(std::memory_order_acquire);
      drop_block(used);
    }
    value = first_->slots[index % kBlock];
    read_.store(index + 1, std::memory_order_release);
  }
  void push(const T& value) {
    const std::size_t index = written_.load(std::memory_order_relaxed);
    if (index != 0 && index % kBlock == 0) {
      Block* fresh = make_block();
      last_->next.store(fresh, std::memory_order_release);
      last_ = fresh;
    }
    last_->slots[index % kBlock] = value;
    written_.store(index + 1, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kBlock = 64;
  struct Block {
    T slots[kBlock];
    std::atomic<Block*> next{nullptr};
  };

  // C++14's new does not align to more than 16 bytes, which wide vectors ask for.
  static Block* make_block() {
    void* place = nullptr;
    if (::posix_memalign(&place, alignof(Block) < 64 ? 64 : alignof(Block), sizeof(Block)) != 0) {
      throw std::bad_alloc();
    }
    return new (place) Block;
  }
  static void drop_block(Block* block) {
    block->~Block();
    std::free(block);
  }

  Block* first_;                         // the consumer's
  Block* last_;                          // the producer's
  std::atomic<std::size_t> read_{0};     // moved by the consumer
  std::atomic<std::size_t> written_{0};  // moved by the producer
};

}  // namespace detail

template <typename T, int Depth = 0>
class stream;

// A stream without a stated depth; also what a stage's parameter may be when any depth will do.
template <typename T>
class stream<T, 0> {
 public:
  using value_type = T;

  stream() : stream("unnamed") {}
  explicit stream(const std::string& name)
      : name_(name), ring_(nullptr, 0), chain_(new detail::UnboundedFifo<T>) {}
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  bool empty() const { return !(chain_ ? chain_->can_read() : ring_.can_read()); }
  bool full() const { return !chain_ && !ring_.can_write(); }
  std::size_t size() const { return chain_ ? chain_->size() : ring_.size(); }
  std::size_t capacity() const { return ring_.depth(); }  // 0: no bound
  const std::string& name() const { return name_; }

  T read() {
    T value;
    read(value);
    return value;
  }
  void read(T& value) {
    if (empty()) {
      detail::wait_for_stream([this] { return !empty(); }, "is empty", name_, capacity());
    }
    take(value);
  }
  void write(const T& value) {
    if (full()) detail::wait_for_stream([this] { return !full(); }, "is full", name_, capacity());
    put(value);
  }
  // False, and nothing moves, when the stream is empty or full.
  bool read_nb(T& value) {
    if (empty()) return false;
    take(value);
    return true;
  }
  bool write_nb(const T& value) {
    if (full()) return false;
    put(value);
    return true;
  }
  void operator>>(T& value) { read(value); }
  void operator<<(const T& value) { write(value); }

 protected:
  stream(const std::string& name, T* slots, std::size_t depth) : name_(name), ring_(slots, depth) {}

 private:
  void take(T& value) {
    if (chain_) {
      chain_->pop(value);
    } else {
      ring_.pop(value);
    }
  }
  void put(const T& value) {
    if (chain_) {
      chain_->push(value);
    } else {
      ring_.push(value);
    }
  }

  std::string name_;
  detail::BoundedFifo<T> ring_;
  std::unique_ptr<detail::UnboundedFifo<T>> chain_;
};

// A stream of stated depth.
template <typename T, int Depth>
class stream : public stream<T, 0> {
  static_assert(Depth > 0, "the depth of a stream is positive");

 public:
  stream() : stream("unnamed") {}
  explicit stream(const std::string& name)
      : stream<T, 0>(name, slots_, static_cast<std::size_t>(Depth)) {}

 private:
  T slots_[Depth];
};

}  // namespace hls
