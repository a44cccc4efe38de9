// SPDX-License-Identifier: Apache-2.0
//
// Fair shares of slots, pages and rows between callers.
//
// A caller's share is an equal part of slots and of pages; what it does not use is free for others.
// The caller with the fewest slots is admitted next. One within its share takes slots and pages
// from callers beyond theirs: their newest sequences are preempted. With more callers than slots,
// one that has nothing takes the place of a sequence that had its turn. Rows are dealt max-min: no
// caller gets more while another wants more and has less; the odd rows go to the caller that was
// served least (deficit round robin over steps). A caller with a prompt goes before those that were
// not served a step less: they keep few rows, so that its first token comes soon. A request that
// needs more pages than its caller's share waits until others leave them. Once it is overdue,
// nobody else joins, and sequences that had their turn leave their pages to it. Threads: any.
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

// What a caller wants of a step.
struct CallerWish {
  int num_rows = 0;
  bool has_prompt = false;  // else all rows are decode rows
  std::int64_t served_rows = 0;
};

// Whether `other` keeps few rows until the prompt of `first` is computed. Of two with prompts, the
// one that wants less can go first.
bool goes_before(const CallerWish& first, const CallerWish& other, const SchedulerOptions& options);

// How many rows each gets; true when a caller is held back.
bool deal_rows(std::span<Member> members, std::span<const CallerView> callers,
               const SchedulerOptions& options);

}  // namespace tandem::engine
