// SPDX-License-Identifier: Apache-2.0
//
// A callback may start its run again, so starts are counted.
#include "emulation/runtime_guard/held_runs.h"

#include <unistd.h>

#include <utility>

namespace tandem::emulation {

// Never destroyed: callbacks may come during static destruction.
HeldRuns& HeldRuns::instance() {
  struct OfProcess {
    pid_t process;
    HeldRuns runs;
  };
  static std::atomic<OfProcess*> current{nullptr};
  OfProcess* known = current.load();
  while (known == nullptr || known->process != getpid()) {
    auto* const made = new OfProcess{getpid(), {}};
    if (current.compare_exchange_strong(known, made)) return made->runs;
    delete made;
  }
  return known->runs;
}

void HeldRuns::made(const xrt::run& run) {
  if (!any_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  entries_.erase(run.get_ert_packet());
}

bool HeldRuns::gets_callback(const xrt::run& run) {
  const std::lock_guard lock(mutex_);
  any_.store(true);
  return entries_.try_emplace(run.get_ert_packet()).second;
}

void HeldRuns::starts(const xrt::run& run) {
  if (!any_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(run.get_ert_packet());
  if (found == entries_.end()) return;
  ++found->second.num_started;
  found->second.run = run;
}

void HeldRuns::ended(const void* packet) {
  HeldRuns& all = instance();
  std::optional<xrt::run> last;  // destroyed after the lock
  const std::lock_guard lock(all.mutex_);
  const auto found = all.entries_.find(packet);
  if (found == all.entries_.end() || found->second.num_started == 0) return;
  if (--found->second.num_started == 0) last.swap(found->second.run);
}

}  // namespace tandem::emulation
