// SPDX-License-Identifier: Apache-2.0
//
// A callback may start its run again, so starts are counted.
#include "emulation/runtime_guard/held_runs.h"

#include <utility>

#include "emulation/protocol/process_instance.h"
#include "emulation/runtime_guard/run_packet.h"

namespace tandem::emulation {

HeldRuns& HeldRuns::instance() { return of_this_process<HeldRuns>(); }

void HeldRuns::made(const xrt::run& run) {
  if (!any_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  entries_.erase(packet_of(run));
}

bool HeldRuns::gets_callback(const xrt::run& run) {
  const std::lock_guard lock(mutex_);
  any_.store(true);
  return entries_.try_emplace(packet_of(run)).second;
}

void HeldRuns::starts(const xrt::run& run) {
  if (!any_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(packet_of(run));
  if (found == entries_.end()) return;
  ++found->second.num_started;
  found->second.run = run;
}

void HeldRuns::start_failed(const xrt::run& run) { ended(packet_of(run)); }

void HeldRuns::ended(const void* packet) {
  HeldRuns& all = instance();
  std::optional<xrt::run> last;  // destroyed after the lock
  const std::lock_guard lock(all.mutex_);
  const auto found = all.entries_.find(packet);
  if (found == all.entries_.end() || found->second.num_started == 0) return;
  if (--found->second.num_started == 0) last.swap(found->second.run);
}

}  // namespace tandem::emulation
