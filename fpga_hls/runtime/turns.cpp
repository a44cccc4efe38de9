// SPDX-License-Identifier: Apache-2.0
//
// Turns: a process that uses memory of an earlier process of the same parent begins when that one
// has ended, if either writes the memory.
//
// Streams order processes by themselves; everything else keeps the order of sequential C. Where
// waiting would leave no process ready (a feedback, and a pointer that both only read), the process
// begins anyway.
#include <algorithm>
#include <cstdint>

#include "fpga_hls/runtime/scheduler.h"

namespace tandem::hls_runtime {
namespace {

bool overlap(const tandem_use& a, const tandem_use& b) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(a.begin);
  const uintptr_t other = reinterpret_cast<uintptr_t>(b.begin);
  return at < other + b.bytes && other < at + a.bytes;
}

bool conflict(const Process& a, const Process& b, const tandem_use& except) {
  for (const tandem_use& one : a.uses) {
    if (overlap(one, except)) continue;
    for (const tandem_use& two : b.uses) {
      if ((one.writes != 0 || two.writes != 0) && overlap(one, two)) return true;
    }
  }
  return false;
}

}  // namespace

// The processes that `process`, which has not begun, must wait for.
void Scheduler::queue_behind_users(Process& process) {
  if (process.uses.empty()) return;
  for (const auto& [id, other] : processes_) {
    const bool earlier = other->parent == process.parent && id < process.id && !other->task;
    if (earlier && conflict(*other, process, {})) process.behind.push_back(other.get());
  }
}

void Scheduler::await_turn() {
  while (!current_process_->behind.empty()) {
    num_held_.fetch_add(1);
    block(Blocked::kTurn);
  }
}

// Makes the processes ready that waited only for `ended`.
void Scheduler::release_behind(Process* ended) {
  if (num_held_.load(std::memory_order_relaxed) == 0) return;
  const std::vector<Process*> blocked = blocked_;
  for (Process* process : blocked) {
    if (process->blocked != Blocked::kTurn) continue;
    std::erase(process->behind, ended);
    if (process->behind.empty()) make_ready(process);
  }
}

// Whether both use memory that is not the card's.
bool Scheduler::is_behind_locally(const Process& before, const Process& process) const {
  return conflict(before, process, {settings_.global_memory, settings_.global_bytes, 1});
}

// Lets the earliest process that waits for its turn begin early; `by_global_memory`: of those that
// wait for nothing else.
bool Scheduler::begin_held(bool by_global_memory) {
  Process* first = nullptr;
  for (Process* process : blocked_) {
    if (process->blocked != Blocked::kTurn) continue;
    const auto is_local = [&](const Process* before) {
      return is_behind_locally(*before, *process);
    };
    if (by_global_memory && std::ranges::any_of(process->behind, is_local)) continue;
    if (first == nullptr || process->id < first->id) first = process;
  }
  if (first == nullptr) return false;
  first->behind.clear();
  make_ready(first);
  return true;
}

void Scheduler::begin_held_soon() {
  begin_requested_.store(true);
  signal();
}

}  // namespace tandem::hls_runtime
