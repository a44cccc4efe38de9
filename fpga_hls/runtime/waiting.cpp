// SPDX-License-Identifier: Apache-2.0
//
// Waits for streams, and for other units when no process of a unit is ready. deadlock.cpp handles
// waits that nothing can end.
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "fpga_hls/runtime/scheduler.h"

namespace tandem::hls_runtime {
namespace {

using tandem_hls::kReader;
using tandem_hls::kWriter;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kWakeBatch = 64;
constexpr std::chrono::nanoseconds kSpinLargest{20'000}, kSpinSmallest{500};
constexpr uint32_t kIdleTurns = 1024;
constexpr uint32_t kCancelTurns = 256;  // between two polls of cancelled()
constexpr int kGatherTurns = 16;

void futex_wait(std::atomic<uint32_t>& word, uint32_t seen, std::chrono::nanoseconds timeout) {
  const timespec relative{timeout.count() / 1'000'000'000, timeout.count() % 1'000'000'000};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen, &relative,
          nullptr, 0);
}

// A fence that costs only the side that sleeps: heavy_fence() makes every other thread of the
// process execute a full fence, so light_fence() only has to keep the compiler's order.
bool has_membarrier() {
  static const bool has =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return has;
}
const bool kMembarrier = has_membarrier();

void light_fence() {
  if (kMembarrier) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}
void heavy_fence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (kMembarrier) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

}  // namespace

uint64_t Scheduler::await_data(Channel& channel) {
  const bool link = is_link(channel);
  if (link && channel.held() == 0) flush_wakes();
  while (channel.held() == 0) await(channel, kReader);
  if (link && ready_.empty()) gather(channel);
  return channel.written.load(std::memory_order_acquire);
}

// Waits briefly so that the values of a link arrive in groups. A reader that takes each value at
// once slows its writer down, because both wait for the same cache line. Ends when no more values
// arrive.
void Scheduler::gather(const Channel& channel) {
  uint64_t before = 0;
  for (uint64_t held = channel.held(); held > before && held < kWakeBatch; held = channel.held()) {
    before = held;
    for (int turn = 0; turn < kGatherTurns; ++turn) __builtin_ia32_pause();
  }
}

uint64_t Scheduler::await_space(Channel& channel) {
  if (tries_depths()) {
    settings_.trial->plan(channel);
  } else if (settings_.keeps_depths) {
    take_default_depth(channel);
  }
  while (true) {
    const uint64_t taken = channel.read.load(std::memory_order_acquire);
    const uint64_t written = channel.written.load(std::memory_order_relaxed);
    const uint64_t room = room_of(channel);
    if (written - taken < room) return taken + room;
    if (may_run_ahead(channel)) return written + kWakeBatch;
    await(channel, kWriter);
  }
}

// A stream between processes. One on the writer's own stack is read there too, in the order of C.
void Scheduler::take_default_depth(Channel& channel) const {
  if (channel.depth != 0 || is_link(channel)) return;
  const bool is_process = current_process_->region != nullptr || current_process_->task;
  if (!is_process || current_process_->stack.holds(&channel)) return;
  channel.stated_depth = 0;
  channel.depth = kDefaultDepth;
  channel.trial = kDefaultDepthTrial;
}

void Scheduler::await(Channel& channel, int side) {
  idle_turns_ = 0;
  current_process_->waits.push_back({&channel, side});
  block(Blocked::kChannels);
}

void Scheduler::await_any(const std::vector<Wait>& waits) {
  idle_turns_ = 0;
  // No statement of one channel: its place is where the channel is made.
  for (const Wait& wait : waits) {
    wait.channel->wait_file[wait.side] = wait.channel->file;
    wait.channel->wait_line[wait.side] = wait.channel->line;
  }
  current_process_->waits = waits;
  block(Blocked::kChannels);
}

// A stream that has exceeded its depth keeps to the end what it has now, so that the depth that it
// needs is found.
bool Scheduler::keeps_depth(const Channel& channel) const {
  if (!settings_.keeps_depths || current_process_->region == nullptr) return false;
  return channel.written.load(std::memory_order_relaxed) < settings_.most_kept ||
         channel.extra.load(std::memory_order_relaxed) != 0;
}

// Whether a writer may exceed the depth. As in sequential C, it runs to its end while no process
// that could make room is known to run.
bool Scheduler::may_run_ahead(const Channel& channel) const {
  if (strict() || channel.held() >= channel.most()) return false;
  if (is_link(channel)) return !static_cast<const Scheduler*>(channel.unit[kReader])->active();
  const bool is_default = channel.trial == kDefaultDepthTrial;
  if (channel.depth == 0) return true;
  if ((channel.trial != 0 && !is_default) || keeps_depth(channel)) return false;
  if (is_default) return true;
  const uint64_t reader = channel.process[kReader].load(std::memory_order_relaxed);
  if (reader == current_process_->id) return true;
  if (!ready_.empty() && ready_.front()->id == reader) return false;
  return reader != main_.id && processes_.count(reader) == 0;
}

void Scheduler::moved(Channel& channel, int side) {
  idle_turns_ = 0;
  if (!is_link(channel)) {
    channel.attention.store(0, std::memory_order_relaxed);
    void* const waiting = channel.sleeper[1 - side].load(std::memory_order_relaxed);
    if (waiting != nullptr) make_ready(static_cast<Process*>(waiting));
    if (channel.sleeper[side].load(std::memory_order_relaxed) != nullptr) {
      channel.attention.store(1, std::memory_order_relaxed);
    }
    return;
  }
  // Either the other unit, about to sleep, sees the transfer, or its mark is seen here.
  light_fence();
  if (channel.sleeper[1 - side].load(std::memory_order_relaxed) == nullptr) return;
  const uint64_t held = channel.held(), half = room_of(channel) / 2;
  const bool worth_it = side == kWriter ? held >= std::min(kWakeBatch, half) : held <= half;
  if (worth_it) {
    wake(channel, side);
  } else if (std::find(late_wakes_.begin(), late_wakes_.end(), &channel) == late_wakes_.end()) {
    late_wakes_.push_back(&channel);
  }
}

// Wakes the process or unit that sleeps at the other end from `side`.
void Scheduler::wake(Channel& channel, int side) {
  if (channel.sleeper[1 - side].load(std::memory_order_relaxed) == nullptr) return;
  static_cast<Scheduler*>(channel.unit[1 - side])->signal();
}

// A wake-up costs more than a transfer, so those for few values wait until this unit rests.
void Scheduler::flush_wakes() {
  for (Channel* channel : late_wakes_) {
    for (const int side : {kReader, kWriter}) {
      if (channel->unit[side] == this) wake(*channel, side);
    }
  }
  late_wakes_.clear();
}

// A non-blocking access to a stream found it not ready.
void Scheduler::idle(const Channel& channel) {
  check_stop();
  ++idle_turns_;
  if (idle_turns_ % 64 == 0) {
    flush_wakes();
    poll_waits();
  }
  if (ready_.empty() && idle_turns_ % kIdleTurns == 0) {
    if (idle_turns_ > 64 * kIdleTurns) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    } else {
      std::this_thread::yield();
    }
    stop_if_cancelled();
    // The value may come from a process that waits for its turn.
    if (idle_turns_ > 16 * kIdleTurns && !is_link(channel)) begin_held();
  }
  if (ready_.empty() && idle_turns_ % kIdleTurns != 0) return;
  ready_.push_back(current_process_);
  switch_to(next());
  check_stop();
}

// The process to run now; waits until there is one.
Process* Scheduler::next() {
  while (true) {
    if (stop_requested_.load(std::memory_order_relaxed)) stop_command(End::kStopped);
    if (deadlock_found_.load(std::memory_order_relaxed) && deadlock_found_.exchange(false)) {
      const std::lock_guard<std::mutex> lock(deadlock_mutex_);
      if (active()) {
        message_ = deadlock_message_;
        findings_.waits = deadlock_waits_;
        stop_command(End::kDeadlock);
      }
    }
    if (++turns_ % kCancelTurns == 0) stop_if_cancelled();
    if (begin_requested_.load(std::memory_order_relaxed) && begin_requested_.exchange(false)) {
      begin_held();
    }
    if (ready_.empty()) poll_waits();
    // A process that waits while it is unwound must not wait.
    if (ready_.empty() && command_over_) wake_stopped();
    if (!ready_.empty()) {
      if (asleep_.load(std::memory_order_relaxed)) {
        if (settings_.group != nullptr) settings_.group->withdraw(*this);
        asleep_.store(false, std::memory_order_release);
        sleeps_ = 0;
      }
      Process* const process = ready_.front();
      ready_.pop_front();
      return process;
    }
    if (waits_on_link() || main_.blocked == Blocked::kForever) {
      sleep();
      continue;
    }
    stop_if_cancelled();
    const bool keeps = settings_.keeps_depths && !command_over_;
    if (keeps && begin_held(true)) continue;
    if (command_over_ || grow_full_stream() || begin_held() || outlast_threads()) continue;
    declare_deadlock();
  }
}

// Makes processes ready whose streams have moved: links, which other units move, and channels where
// a second process waits at the same side.
bool Scheduler::poll_waits() {
  bool any = false;
  for (size_t index = 0; index < blocked_.size();) {
    Process* const process = blocked_[index];
    const bool now = process->blocked == Blocked::kChannels &&
                     std::any_of(process->waits.begin(), process->waits.end(), is_ready);
    if (now) {
      make_ready(process);  // takes it out of blocked_
      any = true;
    } else {
      ++index;
    }
  }
  return any;
}

// Sleeps until a link moves or a signal comes.
void Scheduler::sleep() {
  flush_wakes();
  if (!asleep_.load(std::memory_order_relaxed)) {
    if (spin()) return;
    if (news_ && settings_.has_news) settings_.has_news();
    news_ = false;
    asleep_since_ = Clock::now();
    asleep_.store(true, std::memory_order_release);
  }
  const uint32_t seen = event_.load(std::memory_order_acquire);
  watch_links(true);
  heavy_fence();
  if (!poll_waits() && !stop_requested_.load() && !deadlock_found_.load()) {
    const auto timeout = std::chrono::milliseconds(std::min<uint32_t>(1 + sleeps_ * 2, 20));
    futex_asleep_.store(true);
    futex_wait(event_, seen, timeout);
    futex_asleep_.store(false);
    ++sleeps_;
  }
  watch_links(false);
  stop_if_cancelled();
  const bool rests = sleeps_ > 1 && event_.load(std::memory_order_acquire) == seen;
  if (rests && settings_.group != nullptr && ready_.empty()) {
    settings_.group->publish(*this, {all_waits(), !settings_.free_running, threads_outlasted()});
  }
}

// Polls briefly, as long as polling has succeeded recently.
bool Scheduler::spin() {
  const auto until = Clock::now() + spin_budget_;
  do {
    for (int look = 0; look < 16; ++look) {
      if (poll_waits()) {
        spin_budget_ = std::min(2 * spin_budget_, kSpinLargest);
        return true;
      }
      __builtin_ia32_pause();
    }
  } while (Clock::now() < until);
  spin_budget_ = std::max(spin_budget_ / 2, kSpinSmallest);
  return false;
}

void Scheduler::watch_links(bool on) {
  for (const Process* process : blocked_) {
    for (const Wait& wait : process->waits) {
      if (!is_link(*wait.channel)) continue;
      wait.channel->sleeper[wait.side].store(on ? this : nullptr, std::memory_order_relaxed);
    }
  }
}

void Scheduler::signal() {
  event_.fetch_add(1);
  if (futex_asleep_.load()) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&event_), FUTEX_WAKE_PRIVATE, 1, nullptr,
            nullptr, 0);
  }
}

void Scheduler::stop() {
  stop_requested_.store(true);
  signal();
}

}  // namespace tandem::hls_runtime
