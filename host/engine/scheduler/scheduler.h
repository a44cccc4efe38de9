// SPDX-License-Identifier: Apache-2.0
//
// The scheduler: a pure function from the state of the queue to the next StepPlan.
//
// Policy: running sequences continue, oldest first. Decode rows come before prefill chunks, and all
// fit into max_step_tokens. If a running sequence finds no page, the newest running one is
// preempted whole; its KV is computed again later from its known tokens. The head of the queue is
// admitted, strictly in order, when pages for all its known tokens are available and one page per
// running sequence remains. This reserve keeps an admission from causing a preemption at the next
// block boundary. A step that preempts admits nothing. Threads: any. Errors: none.
#pragma once

#include <span>

#include "engine/scheduler/step_plan.h"
#include "planner/cost/step_cost.h"

namespace tandem::engine {

struct WaitingView {
  SequenceId id = 0;
  int num_tokens = 0;  // known: the prompt, and tokens that were generated before a preemption
  int num_cached_tokens = 0;  // leading tokens whose KV is cached; < num_tokens
  int num_cached_in_use = 0;  // their blocks that running sequences hold; these cost no page
};

// In order of admission.
struct RunningView {
  SequenceId id = 0;
  int num_tokens = 0;    // known
  int num_computed = 0;  // leading tokens with KV; < num_tokens
  int num_blocks = 0;    // pages it has
  int num_sole = 0;      // of these, the pages that no other sequence holds
};

struct SchedulerOptions {
  int max_running = 64;
  int max_step_tokens = 256;
  int num_sub_batches = 1;  // at most; 1 or 2
  int page_tokens = 16;
};

// The oldest sequence always advances and is never preempted while it fits alone. So every request
// that fits alone finally runs. `cost`: the time of a step; two sub-batches are cut where their
// times differ least. Cost: O(running + admitted).
StepPlan plan_step(std::span<const WaitingView> waiting, std::span<const RunningView> running,
                   int available_pages, const SchedulerOptions& options,
                   const planner::StepCost& cost);

}  // namespace tandem::engine
