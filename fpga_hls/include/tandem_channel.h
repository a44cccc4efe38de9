// SPDX-License-Identifier: Apache-2.0
//
// What streams, tasks and the emulated card agree on: the part of a channel that does not depend on
// what it carries, and the C functions of the card's process runtime.
//
// The functions are weak: inside a card they lead to the runtime of the compute unit, in a plain
// C++ program they are null, and a wait is a wait for another thread. A channel has one producer
// and one consumer at a time. `written` is moved by the producer only, `read` by the consumer only,
// so a transfer needs no lock; after it the mover calls tandem_channel_moved() when `attention` is
// not 0. Waits inside a card may throw: the exception is the card's and only passes through.
// C++14.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

namespace tandem_hls {

enum Side : int { kReader = 0, kWriter = 1 };

// What a stream may hold beyond its depth, or without one, before its writer waits whatever happens.
constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;

// No alignment beyond a pointer's, as C++14's new gives no more; padding keeps both counters off
// each other's cache line.
struct Channel {
  explicit Channel(const std::string& channel_name) : name(channel_name) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  std::string name;
  std::size_t depth = 0;  // 0: none stated, no bound
  std::size_t element_bytes = 0;
  std::atomic<std::uint32_t> attention{0};  // not 0: somebody wants to hear of transfers
  // The runtime's: who waits or last waited at each side, and the units of a link's two ends.
  std::atomic<std::uint64_t> process[2] = {{0}, {0}};
  std::atomic<void*> sleeper[2] = {{nullptr}, {nullptr}};
  void* unit[2] = {nullptr, nullptr};
  std::atomic<std::uint64_t> extra{0};  // how far a writer may go beyond the depth
  char pad_a[64];
  std::atomic<std::uint64_t> written{0};
  char pad_b[64];
  std::atomic<std::uint64_t> read{0};
  char pad_c[64];

  std::uint64_t held() const {
    const std::uint64_t taken = read.load(std::memory_order_acquire);
    return written.load(std::memory_order_acquire) - taken;
  }
  // The values that kMostBytes are.
  std::uint64_t most() const {
    return element_bytes < 2 ? kMostBytes : (kMostBytes + element_bytes - 1) / element_bytes;
  }
};

}  // namespace tandem_hls

extern "C" {
#define TANDEM_RUNTIME_FUNCTION __attribute__((weak, visibility("default")))
// Waits until the channel holds a value; returns its `written` then.
TANDEM_RUNTIME_FUNCTION std::uint64_t tandem_channel_await_data(tandem_hls::Channel* channel);
// Waits until the producer may write; returns the count of `written` up to which it may.
TANDEM_RUNTIME_FUNCTION std::uint64_t tandem_channel_await_space(tandem_hls::Channel* channel);
// Waits until one of the channels has data (sides[i] kReader) or space (kWriter).
TANDEM_RUNTIME_FUNCTION void tandem_channel_await_any(tandem_hls::Channel* const* channels,
                                                      const int* sides, std::size_t count);
// Tells who waits at the other side that `side` has moved.
TANDEM_RUNTIME_FUNCTION void tandem_channel_moved(tandem_hls::Channel* channel, int side);
// A look at a channel that found nothing to do: lets other processes run.
TANDEM_RUNTIME_FUNCTION void tandem_channel_idle(tandem_hls::Channel* channel);
// Starts a process that belongs to no region and may never end; `body` is called once, on the new
// process, and copies what it needs from `argument` before it first waits.
TANDEM_RUNTIME_FUNCTION std::uint64_t tandem_task_start(const char* name, void (*body)(void*),
                                                        void* argument);
// Ends the task, wherever it waits; nothing happens when it has ended.
TANDEM_RUNTIME_FUNCTION void tandem_task_drop(std::uint64_t task);
}

namespace hls {

struct stream_stuck : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How long, outside a card, a stage waits for the other side of a stream before the design counts
// as deadlocked.
inline std::atomic<int>& stream_patience_ms() {
  static std::atomic<int> patience(2000);
  return patience;
}

}  // namespace hls

namespace tandem_hls {

// Outside a card: ends the thread of a task whose object is gone.
struct TaskEnded {};

inline const std::atomic<bool>*& task_end_flag() {
  static thread_local const std::atomic<bool>* flag = nullptr;
  return flag;
}

// Outside a card: waits for another thread to make `ready` true. Tasks wait without end.
template <typename Ready>
void wait_for_thread(const Ready& ready, const char* what, const Channel& channel) {
  for (int spin = 0; spin < 1000; ++spin) {
    if (ready()) return;
  }
  const std::atomic<bool>* const ended = task_end_flag();
  const auto give_up = std::chrono::steady_clock::now() +
                       std::chrono::milliseconds(hls::stream_patience_ms().load());
  for (int turn = 0; !ready(); ++turn) {
    if (ended != nullptr) {
      if (ended->load()) throw TaskEnded();
      if (turn > 1000) std::this_thread::sleep_for(std::chrono::microseconds(50));
    } else if (std::chrono::steady_clock::now() >= give_up) {
      throw hls::stream_stuck(
          "stream '" + channel.name + "' " + what +
          (channel.depth != 0 ? " (depth " + std::to_string(channel.depth) + ")" : std::string()) +
          ": the stage on its other side does not run; the design would deadlock");
    }
    std::this_thread::yield();
  }
}

inline std::uint64_t await_data(Channel& channel) {
  if (tandem_channel_await_data) return tandem_channel_await_data(&channel);
  wait_for_thread([&channel] { return channel.held() != 0; }, "is empty", channel);
  return channel.written.load(std::memory_order_acquire);
}

inline std::uint64_t await_space(Channel& channel) {
  if (tandem_channel_await_space) return tandem_channel_await_space(&channel);
  if (channel.depth == 0) return ~std::uint64_t{0};
  wait_for_thread([&channel] { return channel.held() < channel.depth; }, "is full", channel);
  return channel.read.load(std::memory_order_acquire) + channel.depth;
}

// Waits until one channel is ready at its side; used by processes with several inputs.
inline void await_any(Channel* const* channels, const int* sides, std::size_t count) {
  if (tandem_channel_await_any) return tandem_channel_await_any(channels, sides, count);
  wait_for_thread(
      [=] {
        for (std::size_t i = 0; i < count; ++i) {
          const Channel& channel = *channels[i];
          if (sides[i] == kReader ? channel.held() != 0
                                  : channel.depth == 0 || channel.held() < channel.depth) {
            return true;
          }
        }
        return false;
      },
      "is idle", *channels[0]);
}

inline void idle(const Channel& channel) {
  if (tandem_channel_idle) {
    tandem_channel_idle(const_cast<Channel*>(&channel));
  } else if (task_end_flag() != nullptr && task_end_flag()->load()) {
    throw TaskEnded();
  }
}

// An unbounded queue of values for one producer and one consumer: a chain of fixed blocks; a
// drained block goes back to the producer.
template <typename T>
class Chain {
 public:
  Chain() = default;
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;
  // `held`: values still inside.
  void drop(std::uint64_t held) {
    for (; held != 0; --held) (void)take();
    while (first_ != nullptr) {
      Block* const next = first_->next.load(std::memory_order_relaxed);
      std::free(first_);
      first_ = next;
    }
    std::free(spare_.exchange(nullptr));
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
  // The value that take() would give.
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
  };
  static constexpr std::size_t kAlignment = alignof(T) < 64 ? 64 : alignof(T);
  static constexpr std::size_t kCount = sizeof(T) >= 1024 ? 4 : 4096 / sizeof(T);
  static constexpr std::size_t kBytes = kAlignment + kCount * sizeof(T);

  static T* slots(Block* block) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(block) + kAlignment);
  }

  void extend() {
    Block* fresh = spare_.exchange(nullptr, std::memory_order_acquire);
    if (fresh == nullptr) {
      void* place = nullptr;
      if (::posix_memalign(&place, kAlignment, kBytes) != 0) throw std::bad_alloc();
      fresh = static_cast<Block*>(place);
    }
    new (fresh) Block;
    fresh->next.store(nullptr, std::memory_order_relaxed);
    if (last_ == nullptr) {
      entry_.store(fresh, std::memory_order_release);
    } else {
      last_->next.store(fresh, std::memory_order_release);
    }
    last_ = fresh;
    put_at_ = slots(fresh);
    put_end_ = put_at_ + kCount;
  }

  void advance() {
    Block* const used = first_;
    first_ = used == nullptr ? entry_.load(std::memory_order_acquire)
                             : used->next.load(std::memory_order_acquire);
    if (used != nullptr) std::free(spare_.exchange(used, std::memory_order_release));
    take_at_ = slots(first_);
    take_end_ = take_at_ + kCount;
  }

  // The producer's, and the consumer's behind the padding.
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
