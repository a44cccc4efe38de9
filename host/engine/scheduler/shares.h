// SPDX-License-Identifier: Apache-2.0
//
// Fair shares of slots, pages and rows between callers.
//
// A caller's share is an equal part of the slots and of the pages. Other callers may use the part
// that it does not use. A step calls choose_members(), which says who runs, and then deal_rows(),
// which says how many rows each gets. Threads: any.
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
  bool admitted = false;  // whether the sequence was admitted in this step
  int num_rows = 0;
  int priority = 0;

  int wanted() const { return num_tokens - num_computed; }
  bool decodes() const { return wanted() == 1; }
};

// Returns the sequences that run, in order of admission; fills in `preempted` and `admitted` of the
// plan.
//
// The caller with the fewest slots is admitted next. A caller within its share takes slots and
// pages from callers beyond theirs: their newest sequences are preempted. With more callers than
// slots, a caller that has no slot gets that of a sequence that has had its turn. A request that
// needs more pages than its caller's share waits until others leave them. Once it is overdue, no
// other request is admitted, and sequences that have had their turn release their pages for it.
std::vector<Member> choose_members(const QueueView& queue, const SchedulerOptions& options,
                                   StepPlan& plan);

// The rows that a caller wants in a step, and the rows that it got in earlier steps.
struct CallerWish {
  int num_rows = 0;
  bool has_prompt = false;  // false: all rows are decode rows
  std::int64_t served_rows = 0;
};

// Whether `other` gets few rows until the prompt of `first` is computed, so that the first token of
// `first` comes soon. False if `first` was served more than `other` by at least the rows of a step.
// Of two callers with prompts, only the one that wants fewer rows can go first.
bool goes_before(const CallerWish& first, const CallerWish& other, const SchedulerOptions& options);

// Sets `num_rows` of the members. Returns true if a caller gets few rows because of another's
// prompt.
//
// Rows are dealt max-min: no caller gets more while another wants more and has less. The remaining
// rows go to the caller that was served least (deficit round robin over steps).
bool deal_rows(std::span<Member> members, std::span<const CallerView> callers,
               const SchedulerOptions& options);

}  // namespace tandem::engine
