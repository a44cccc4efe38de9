// SPDX-License-Identifier: Apache-2.0
//
// EngineStatus: the present state of an engine, and its counters so far.
//
// Threads: plain data.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "device/attention_unit.h"
#include "device/compute_unit.h"
#include "engine/planning/plan_status.h"
#include "engine/speculation/speculation.h"

namespace tandem::engine {

struct UnitStatus {
  std::string id;
  bool alive = true;
  std::uint32_t pages_total = 0, pages_used = 0,
                pages_cached = 0;  // cached: available, but hold a prefix
  device::AttentionStats stats;
  std::uint64_t losses = 0;  // how often the unit was lost
};

struct EngineStatus {
  int running = 0, waiting = 0;
  std::vector<std::pair<std::string, int>> waiting_by_caller;
  std::uint64_t steps = 0, prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  std::uint64_t preemptions = 0, rebuilt_sequences = 0;
  std::uint64_t moved_pages = 0;
  std::uint64_t parked_sequences = 0, restored_tokens = 0;  // see KvParking
  std::uint64_t parked_bytes = 0;   // host memory of sequences that are parked now
  std::uint64_t refused_steps = 0;  // steps that were refused; their items ran again, each alone
  // steps that ended early and were planned again, because a caller with fewer rows sent a new
  // request
  std::uint64_t interrupted_steps = 0;
  SpeculationCounts speculation;
  bool broken = false;     // no compute or attention unit is left: every request ends with kError
  bool draining = false;   // drain() was called: submit() returns kStopping
  std::string compute_id;  // the compute unit in use
  std::string lost_compute_id;  // the compute unit that failed before it; empty: none
  device::ComputeStats compute;
  std::vector<UnitStatus> units;
  PlanStatus plan;  // of the last step; its mode is empty if nothing is predicted
  std::vector<std::pair<std::string, std::uint64_t>> steps_by_mode;
  std::uint64_t target_missed_steps =
      0;  // steps whose decode rows alone were predicted to exceed the target

  // The units that are lost and have not returned.
  std::vector<std::string> lost_units() const;
};

}  // namespace tandem::engine
