// SPDX-License-Identifier: Apache-2.0
//
// Waits in a plain C++ program. A thread that waits for a stream, or finds one not ready, lets
// every task run that can continue (tandem_task_thread.h).
//
// A read that no writer serves within stream_patience_ms() throws hls::stream_stuck; until then
// another thread may write. A write to a full stream waits while another thread reads it. If the
// reader is a task, the write exceeds the depth by up to 1024 values. Else it exceeds it without
// bound, as C simulation does, because the reader comes later in the same thread. When no task can
// continue, full streams that tasks write to grow. C++11.
#pragma once

#include <sched.h>

#include <chrono>
#include <stdexcept>
#include <string>

#include "tandem_channel.h"

#include "tandem_macros_begin.h"

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

// The number of values that a channel may hold before a task that writes to it waits.
inline std::uint64_t room_ahead(const Channel& channel) {
  const std::uint64_t bytes = channel.element_bytes;
  const std::uint64_t ahead = bytes <= 64 ? 1024 : (bytes <= 32768 ? 65536 / bytes : 2);
  return ahead < channel.depth ? channel.depth : ahead;
}

inline bool is_ready(const Channel& channel, int side) {
  if (side == kReader) return channel.held() != 0;
  if (side == kAsked) return channel.held() == 0 && channel.asked.load() != 0;
  return channel.held() < room_ahead(channel) + channel.extra.load();
}

// The tasks of the program. Waits call these functions.
class TaskTurns {
 public:
  // Whether this thread is a task; only then wait() and yield() may be called.
  virtual bool in_task() const = 0;
  // Waits until one of the channels is ready at its side.
  virtual void wait(Channel* const* channels, const int* sides, std::size_t count) = 0;
  // Lets other tasks run; for a task that found a stream not ready.
  virtual void yield() = 0;
  // Called by threads that are not a task. Runs each task that can continue, until it waits.
  // Returns false if none could continue, except tasks that only test streams. Returns true at once
  // if another thread is in run_tasks().
  virtual bool run_tasks() = 0;
  // Repeats run_tasks() until the channel has room.
  virtual void run_tasks_until_room(const Channel& channel) = 0;
  // Enlarges one full channel to which a task writes.
  virtual bool grow() = 0;
  // Reports that a channel is destroyed, or that a channel was made, maybe at the same address.
  virtual void channel_destroyed(const Channel& channel) = 0;
  virtual void channel_made(const Channel& channel) = 0;

 protected:
  ~TaskTurns() = default;
};

// Null until the first task starts.
inline std::atomic<TaskTurns*>& task_turns() {
  static std::atomic<TaskTurns*> turns(nullptr);
  return turns;
}
inline TaskTurns* turns_of_task() {
  TaskTurns* const turns = task_turns().load(std::memory_order_acquire);
  return turns != nullptr && turns->in_task() ? turns : nullptr;
}
inline void report_made(const Channel& channel) {
  if (TaskTurns* const turns = task_turns().load(std::memory_order_acquire)) {
    turns->channel_made(channel);
  }
}
inline void report_destroyed(const Channel& channel) {
  if (TaskTurns* const turns = task_turns().load(std::memory_order_acquire)) {
    turns->channel_destroyed(channel);
  }
}

// The value of Channel::reader: the same for all tasks, because they run only while another thread
// waits.
inline const void* task_mark() {
  static const char mark = 0;
  return &mark;
}
inline const void* thread_mark() {
  static thread_local const char mark = 0;
  return turns_of_task() != nullptr ? task_mark() : &mark;
}
inline void note_reader(Channel& channel) {
  if (tandem_channel_await_data) return;
  const void* const mark = thread_mark();
  if (channel.reader.load(std::memory_order_relaxed) != mark) {
    channel.reader.store(mark, std::memory_order_relaxed);
  }
}

// Waits until `ready` returns true; for threads that are not a task. Returns false after
// stream_patience_ms().
template <typename Ready>
bool wait_for_others(const Ready& ready) {
  typedef std::chrono::steady_clock Clock;
  TaskTurns* const turns = task_turns().load(std::memory_order_acquire);
  for (int spin = 0; spin < 1000 && turns == nullptr; ++spin) {
    if (ready()) return true;
  }
  const auto patience = std::chrono::milliseconds(hls::stream_patience_ms().load());
  auto moved = Clock::now();
  while (!ready()) {
    const bool quiet = Clock::now() - moved > std::chrono::milliseconds(1);
    if (turns != nullptr && (turns->run_tasks() || (quiet && !ready() && turns->grow()))) {
      moved = Clock::now();
    }
    if (Clock::now() - moved >= patience) return ready();
    sched_yield();
  }
  return true;
}

[[noreturn]] inline void throw_stuck(const Channel& channel) {
  throw hls::stream_stuck("stream '" + channel.name +
                          "' is empty: the stage on its other side does not run; the design would "
                          "deadlock");
}

__attribute__((noinline)) inline std::uint64_t await_data(Channel& channel) {
  if (tandem_channel_await_data) return tandem_channel_await_data(&channel);
  channel.asked.store(1);
  if (TaskTurns* const turns = turns_of_task()) {
    Channel* const waited = &channel;
    const int side = kReader;
    turns->wait(&waited, &side, 1);
  } else if (!wait_for_others([&channel] { return channel.held() != 0; })) {
    throw_stuck(channel);
  }
  return channel.written.load(std::memory_order_acquire);
}

// The count of `written` up to which a writer that is not a task may write.
inline std::uint64_t space_for_thread(Channel& channel) {
  if (channel.depth == 0) return ~std::uint64_t{0};
  const void* const reader = channel.reader.load(std::memory_order_relaxed);
  if (reader != nullptr && reader != thread_mark() && reader != task_mark()) {
    if (wait_for_others([&channel] { return channel.held() < channel.depth; })) {
      return channel.read.load(std::memory_order_acquire) + channel.depth;
    }
    channel.reader.store(nullptr, std::memory_order_relaxed);
  }
  TaskTurns* const turns = task_turns().load(std::memory_order_acquire);
  if (turns != nullptr && !is_ready(channel, kWriter)) turns->run_tasks_until_room(channel);
  const std::uint64_t from =
      is_ready(channel, kWriter) ? channel.read.load() : channel.written.load();
  return from + room_ahead(channel);
}

__attribute__((noinline)) inline std::uint64_t await_space(Channel& channel) {
  if (tandem_channel_await_space) return tandem_channel_await_space(&channel);
  TaskTurns* const turns = turns_of_task();
  if (turns == nullptr) return space_for_thread(channel);
  Channel* const waited = &channel;
  const int side = kWriter;
  turns->wait(&waited, &side, 1);
  return channel.read.load(std::memory_order_acquire) + room_ahead(channel) + channel.extra.load();
}

// Waits until one channel is ready at its side; used by processes with several inputs.
inline void await_any(Channel* const* channels, const int* sides, std::size_t count) {
  if (tandem_channel_await_any) return tandem_channel_await_any(channels, sides, count);
  if (TaskTurns* const turns = turns_of_task()) return turns->wait(channels, sides, count);
  const bool any = wait_for_others([=] {
    for (std::size_t i = 0; i < count; ++i) {
      if (is_ready(*channels[i], sides[i])) return true;
    }
    return false;
  });
  if (!any) throw_stuck(*channels[0]);
}

// Call after a test of a channel that found no value or no space.
inline void idle(const Channel& looked_at, int side) {
  Channel& channel = const_cast<Channel&>(looked_at);
  if (tandem_channel_idle) return tandem_channel_idle(&channel);
  if (side == kReader) channel.asked.store(1, std::memory_order_relaxed);
  TaskTurns* const turns = task_turns().load(std::memory_order_acquire);
  if (turns == nullptr) return;
  if (turns->in_task()) return turns->yield();
  // Several rounds, because a value may pass through several tasks.
  for (int round = 0; round < 64 && turns->run_tasks(); ++round) {
    if (side == kReader ? channel.held() != 0 : channel.held() < channel.depth) return;
  }
}

}  // namespace tandem_hls

#include "tandem_macros_end.h"
