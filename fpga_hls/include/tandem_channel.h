// SPDX-License-Identifier: Apache-2.0
//
// The common part of streams, tasks and the emulated card: the members of a channel that do not
// depend on its values, and the C functions of the card's process runtime.
//
// The functions are weak. Inside a card they call the runtime of the compute unit; in a plain C++
// program they are null, and tandem_turns.h waits instead. A channel has one producer and one
// consumer at a time. Only the producer changes `written`, only the consumer `read`, so a transfer
// needs no lock. After a transfer with `attention` not 0 the mover calls tandem_channel_moved(). A
// wait inside a card may throw an exception of the card, which must pass through. C++11.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tandem_macros_begin.h"

namespace tandem_hls {

// kAsked, of plain programs: the channel is empty and its reader waits for a value.
enum Side : int { kReader = 0, kWriter = 1, kAsked = 2 };

// The bytes that a stream may hold beyond its depth (or in total, without a depth) before its
// writer must wait.
constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;

// The name of a source file, from the default argument __builtin_FILE(). A separate type
// distinguishes it from a value of a stream.
struct File {
  File(const char* file_name) : name(file_name) {}
  const char* name;
};

// The alignment is that of a pointer, because C++11's new guarantees no more; padding puts the two
// counters on different cache lines.
struct Channel {
  explicit Channel(const std::string& channel_name) : name(channel_name) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  std::string name;
  std::size_t depth = 0;  // 0: no depth is stated, so there is no bound
  std::size_t element_bytes = 0;
  std::atomic<std::uint32_t> attention{0};  // not 0: transfers must be reported to a waiter
  // Used by the runtime: the process that waits or last waited at each side, and the units at a
  // link's two ends.
  std::atomic<std::uint64_t> process[2] = {{0}, {0}};
  std::atomic<void*> sleeper[2] = {{nullptr}, {nullptr}};
  void* unit[2] = {nullptr, nullptr};
  std::atomic<std::uint64_t> extra{0};  // how far a writer may go beyond the depth
  // In plain programs: the thread that reads, and whether it found the channel empty.
  std::atomic<const void*> reader{nullptr};
  std::atomic<std::uint64_t> asked{0};
  // Where the stream is made, and where each side waits or last waited.
  const char* file = "";
  const char* wait_file[2] = {"", ""};
  int line = 0;
  int wait_line[2] = {0, 0};
  // trial: not 0 once `depth` is a tried or a default one (fpga_hls/runtime/depth_trial.h); the
  // stated depth is then here.
  std::uint32_t stated_depth = 0;
  std::uint32_t trial = 0;
  std::atomic<std::uint64_t> written{0};
  char pad_b[64];
  std::atomic<std::uint64_t> read{0};
  char pad_c[64];

  std::uint64_t held() const {
    const std::uint64_t taken = read.load(std::memory_order_acquire);
    return written.load(std::memory_order_acquire) - taken;
  }
  // The number of values in kMostBytes.
  std::uint64_t most() const {
    return element_bytes < 2 ? kMostBytes : (kMostBytes + element_bytes - 1) / element_bytes;
  }
};

}  // namespace tandem_hls

extern "C" {
#define TANDEM_RUNTIME_FUNCTION __attribute__((weak, visibility("default")))
// Waits until the channel holds a value. Returns the value of `written` at that time.
TANDEM_RUNTIME_FUNCTION std::uint64_t tandem_channel_await_data(tandem_hls::Channel* channel);
// Waits until the producer may write; returns the value of `written` up to which it may write.
TANDEM_RUNTIME_FUNCTION std::uint64_t tandem_channel_await_space(tandem_hls::Channel* channel);
// Waits until one of the channels has data (sides[i] kReader) or space (kWriter).
TANDEM_RUNTIME_FUNCTION void tandem_channel_await_any(tandem_hls::Channel* const* channels,
                                                      const int* sides, std::size_t count);
// Reports to the waiter at the other side that `side` has transferred values.
TANDEM_RUNTIME_FUNCTION void tandem_channel_moved(tandem_hls::Channel* channel, int side);
// Called when a stream is destroyed that still holds values.
TANDEM_RUNTIME_FUNCTION void tandem_channel_left(tandem_hls::Channel* channel);
// Called after a non-blocking access that found the channel not ready. Lets other processes run.
TANDEM_RUNTIME_FUNCTION void tandem_channel_idle(tandem_hls::Channel* channel);
// Starts a process that belongs to no region and may never end; `body` is called once, on the new
// process, and copies what it needs from `argument` before it first waits.
TANDEM_RUNTIME_FUNCTION std::uint64_t tandem_task_start(const char* name, void (*body)(void*),
                                                        void* argument);
// Ends the task at its wait; no effect when it has ended.
TANDEM_RUNTIME_FUNCTION void tandem_task_drop(std::uint64_t task);
}

#include "tandem_macros_end.h"
