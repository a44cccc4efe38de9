// SPDX-License-Identifier: Apache-2.0
//
// Fair shares of slots, pages and rows between callers.
//
// A caller's share is an equal part of slots and of pages; what it does not use is free for others.
// The caller with the fewest slots is admitted next. One within its share takes slots and pages
// from callers beyond theirs: their newest sequences are preempted. With more callers than slots,
// one that has nothing takes the place of a sequence that had its turn. Rows are dealt max-min: no
// caller gets more while another wants more and has less; the odd rows go to the caller that was
// served least (deficit round robin over steps). A request that needs more pages than its caller's
// share waits until others leave them. Threads: any. Errors: none.
#pragma once

#include <span>
#include <vector>

#include "engine/scheduler/scheduler.h"

namespace tandem::engine {

// A sequence that takes part in the step.
struct Member {
  SequenceId id = 0;
  int caller = 0;
  int num_tokens = 0;
  int num_computed = 0;
  std::uint64_t last_step = 0;
  bool admitted = false;  // in this step
  int num_rows = 0;

  int wanted() const { return num_tokens - num_computed; }
  bool decodes() const { return wanted() == 1; }
};

// Who runs: fills in `preempted` and `admitted` of the plan. In order of admission.
std::vector<Member> choose_members(const QueueView& queue, const SchedulerOptions& options,
                                   StepPlan& plan);

// How many rows each gets.
void deal_rows(std::span<Member> members, std::span<const CallerView> callers,
               const SchedulerOptions& options);

}  // namespace tandem::engine
