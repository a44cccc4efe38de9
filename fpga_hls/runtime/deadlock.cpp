// SPDX-License-Identifier: Apache-2.0
//
// Handles a unit none of whose processes can continue: grows a full stream, waits for threads that
// its kernel may have started, or ends the command as deadlocked.
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
// A free-running unit never clears its findings.
constexpr size_t kMostLeft = 64;

std::atomic<int> num_unit_threads{0};

bool is_of(const NeededDepth& needed, const Channel& channel) {
  return needed.stream == channel.name && needed.place.line == channel.line &&
         needed.place.file == channel.file;
}

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
      if (!can_grow(wait) || wait.channel->trial == kFixedTrial) continue;
      note_growth(*wait.channel);
      grow(*wait.channel, settings_.exact_depths);
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

std::vector<StandingWait> Scheduler::standing_waits() const {
  std::vector<StandingWait> waits;
  for (const PublishedWait& published : all_waits()) {
    waits.push_back(standing(settings_.name, published));
  }
  return waits;
}

// A stream without a depth has no bound to exceed.
void Scheduler::note_growth(const Channel& channel) {
  if (channel.depth == 0) return;
  if (findings_.depths.empty()) findings_.waits = standing_waits();
  const uint64_t depth = room_of(channel) + growth_of(channel, settings_.exact_depths);
  for (NeededDepth& needed : findings_.depths) {
    if (!is_of(needed, channel)) continue;
    needed.depth = std::max(needed.depth, depth);
    return;
  }
  findings_.depths.push_back({channel.name, {channel.file, channel.line}, depth});
}

// Values of a run that was stopped, or of a process that throws, are no finding. No depth would
// help where values are left.
void Scheduler::left(const Channel& channel) {
  if (command_over_ || unit_over_ || exceptions_->uncaught != 0) return;
  if (findings_.left.size() == kMostLeft) return;
  std::erase_if(findings_.depths, [&](const NeededDepth& each) { return is_of(each, channel); });
  findings_.left.push_back({channel.name, {channel.file, channel.line}, channel.held()});
  news_ = true;
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
  findings_.waits = standing_waits();
  for (const PublishedWait& published : all_waits()) {
    message_ += (message_.empty() ? "" : "; ") + describe(published.process, published.wait);
  }
  stop_command(End::kDeadlock);
}

void Scheduler::end_in_deadlock(const std::string& message, std::vector<StandingWait> waits) {
  {
    const std::lock_guard<std::mutex> lock(deadlock_mutex_);
    deadlock_message_ = message;
    deadlock_waits_ = std::move(waits);
  }
  deadlock_found_.store(true, std::memory_order_release);
  signal();
}

}  // namespace tandem::hls_runtime
