// SPDX-License-Identifier: Apache-2.0
//
// What a unit does when none of its processes can continue. It grows a full stream, waits for
// threads that its kernel may have started, or ends the command as deadlocked.
#include <algorithm>
#include <filesystem>
#include <thread>

#include "fpga_hls/runtime/scheduler.h"

namespace tandem::hls_runtime {
namespace {

using Clock = std::chrono::steady_clock;

// The same time that a stream outside a card waits for its other side.
constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kLook{1};

std::atomic<int> num_unit_threads{0};

// Whether the program has threads besides the units' and its first one. A kernel may have started
// them, and they move streams without a signal to the unit.
bool has_other_threads() {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::directory_iterator threads("/proc/self/task", error);
  int count = 0;
  while (!error && threads != fs::directory_iterator()) {
    ++count;
    threads.increment(error);
  }
  return error || count > num_unit_threads.load() + 1;
}

}  // namespace

void Scheduler::count_thread(int change) { num_unit_threads.fetch_add(change); }

bool Scheduler::waits_on_link() const {
  for (const Process* process : blocked_) {
    for (const Wait& wait : process->waits) {
      if (is_link(*wait.channel)) return true;
    }
  }
  return false;
}

bool Scheduler::grow_full_stream() {
  for (Process* process : blocked_) {
    for (const Wait& wait : process->waits) {
      if (!can_grow(wait)) continue;
      grow(*wait.channel);
      make_ready(process);
      return true;
    }
  }
  return false;
}

std::vector<PublishedWait> Scheduler::all_waits() const {
  std::vector<PublishedWait> waits;
  for (const Process* process : blocked_) {
    for (const Wait& wait : process->waits) waits.push_back({wait, process->name});
  }
  return waits;
}

// Whether a process is ready in the meantime.
bool Scheduler::outlast_threads() {
  asleep_since_ = Clock::now();
  asleep_.store(true, std::memory_order_release);
  while (true) {
    const bool give_up = threads_outlasted();
    if (poll_waits() || stop_requested_.load() || deadlock_found_.load() || is_cancelled()) {
      return true;
    }
    if (give_up) return false;
    std::this_thread::sleep_for(kLook);
  }
}

// Whether no thread of a kernel can still end the wait of a sleeping unit.
bool Scheduler::threads_outlasted() const {
  return Clock::now() - asleep_since_ > kPatience || !has_other_threads();
}

void Scheduler::declare_deadlock() {
  message_.clear();
  for (const PublishedWait& published : all_waits()) {
    message_ += (message_.empty() ? "" : "; ") + describe(published.process, published.wait);
  }
  stop_command(End::kDeadlock);
}

void Scheduler::end_in_deadlock(const std::string& message) {
  {
    const std::lock_guard<std::mutex> lock(deadlock_mutex_);
    deadlock_message_ = message;
  }
  deadlock_found_.store(true, std::memory_order_release);
  signal();
}

}  // namespace tandem::hls_runtime
