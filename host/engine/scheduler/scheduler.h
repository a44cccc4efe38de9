// SPDX-License-Identifier: Apache-2.0
//
// The scheduler: a pure function from the state of the queue to the next StepPlan.
//
// Policy for one caller: running sequences continue, oldest first. If one finds no page, the newest
// is preempted whole and computed again later. The head of the queue is admitted when pages for all
// its known tokens are available and one more page per running sequence remains, but not in a step
// that preempts for pages. Decode rows come before prefill chunks. The oldest prompt gets at most
// max_prefill_rows while others need rows, unless it ends in this step; the shortest prompts
// follow. Better priorities are admitted first and get prompt rows first; if slots or pages are
// short, the newest sequence of the worst priority is preempted for them. Policy between callers:
// shares.h. Threads: any. Errors: none.
#pragma once

#include <span>

#include "engine/scheduler/step_plan.h"
#include "planner/cost/step_cost.h"

namespace tandem::engine {

struct WaitingView {
  SequenceId id = 0;
  int num_tokens = 0;  // known: the prompt, and tokens that were generated before a preemption
  int num_cached_tokens = 0;  // leading tokens whose KV is cached; < num_tokens
  int num_cached_in_use = 0;  // cached blocks that running sequences hold; they cost no page
  int caller = 0;             // index in QueueView::callers
  bool overdue = false;       // newer sequences of other callers were admitted before it too often
  int priority = 0;           // see Request
};

// A running sequence. QueueView lists them in the order of their admission.
struct RunningView {
  SequenceId id = 0;
  int num_tokens = 0;    // known
  int num_computed = 0;  // leading tokens with KV; < num_tokens
  int num_blocks = 0;    // number of the sequence's pages
  int num_sole = 0;      // of these, the pages that no other sequence holds
  int caller = 0;
  bool had_turn = false;  // it has computed more new tokens than it had to rebuild
  // it was overdue and has not had its turn, so no other sequence takes its place
  bool overdue = false;
  std::uint64_t last_step = 0;  // the last step in which it had rows
  int priority = 0;
};

struct CallerView {
  std::int64_t served_rows = 0;
};

// Every caller has a sequence. Those of one caller are in order; without callers there is one.
struct QueueView {
  std::span<const WaitingView> waiting;
  std::span<const RunningView> running;
  std::span<const CallerView> callers = {};
  int available_pages = 0;
  int total_pages = 0;
};

struct SchedulerOptions {
  int max_running = 64;
  int max_step_tokens = 256;
  int step_rows = 0;  // limit for this step if it should be shorter; 0: max_step_tokens
  // rows of one prompt while other sequences need rows; 0: half of max_step_tokens
  int max_prefill_rows = 0;
  int rows_beside = 0;  // rows of a caller while a prompt of a preferred caller runs; 0: no limit
  int num_sub_batches = 1;  // upper limit: 1 or 2
  int page_tokens = 16;
};

// The oldest sequence of a caller always advances. The oldest of all is not preempted while it fits
// alone and its caller is within its share. `cost`: predicts the time of a step; two sub-batches
// are divided where their predicted times differ least. Cost: O((running + waiting) log).
StepPlan plan_step(const QueueView& queue, const SchedulerOptions& options,
                   const planner::StepCost& cost);

}  // namespace tandem::engine
