// SPDX-License-Identifier: Apache-2.0
//
// The scheduler: first pages (who stays, who joins), then rows (how many for each), then
// sub-batches.
#include "engine/scheduler/scheduler.h"

#include <algorithm>
#include <cmath>
#include <ostream>

namespace tandem::engine {
namespace {

int blocks_for(int num_tokens, int page_tokens) {
  return (num_tokens + page_tokens - 1) / page_tokens;
}

// A sequence that takes part in the step.
struct Member {
  SequenceId id = 0;
  int num_tokens = 0;
  int num_computed = 0;
  int num_rows = 0;
};

// The running sequences that keep their pages. Reserves pages for all their known tokens.
std::vector<Member> keep_running(std::span<const RunningView> running, int& available,
                                 const SchedulerOptions& options, StepPlan& plan) {
  std::size_t end = running.size();  // [end, size) are preempted
  std::vector<Member> members;
  for (std::size_t i = 0; i < end; ++i) {
    const RunningView& sequence = running[i];
    const int missing =
        std::max(0, blocks_for(sequence.num_tokens, options.page_tokens) - sequence.num_blocks);
    while (missing > available && end > i) {
      --end;
      available += running[end].num_sole;
      plan.preempted.push_back(running[end].id);
    }
    if (end == i) break;  // it was the newest
    available -= missing;
    members.push_back({sequence.id, sequence.num_tokens, sequence.num_computed, 0});
  }
  return members;
}

void admit(std::span<const WaitingView> waiting, int available, const SchedulerOptions& options,
           std::vector<Member>& members, StepPlan& plan) {
  // Every member takes at least one row: more members than rows would leave some idle.
  const auto most =
      static_cast<std::size_t>(std::min(options.max_running, options.max_step_tokens));
  int rows = 0;
  for (const Member& member : members) rows += member.num_tokens - member.num_computed;
  for (const WaitingView& sequence : waiting) {
    if (members.size() >= most || rows >= options.max_step_tokens) break;
    const int missing =
        blocks_for(sequence.num_tokens, options.page_tokens) - sequence.num_cached_in_use;
    const int spare = static_cast<int>(members.size());
    if (missing + spare > available) break;
    available -= missing;
    rows += sequence.num_tokens - sequence.num_cached_tokens;
    members.push_back({sequence.id, sequence.num_tokens, sequence.num_cached_tokens, 0});
    plan.admitted.push_back(sequence.id);
  }
}

// Decode rows first, then chunks in order of admission.
void deal_rows(std::vector<Member>& members, int max_step_tokens) {
  int left = max_step_tokens;
  const auto deal = [&](bool decode) {
    for (Member& member : members) {
      const int wanted = member.num_tokens - member.num_computed;
      if ((wanted == 1) != decode) continue;
      member.num_rows = std::min(wanted, left);
      left -= member.num_rows;
    }
  };
  deal(true);
  deal(false);
}

// Cuts the items, as listed, where the times of both sides differ least.
void split(std::vector<StepItem>& items, const planner::StepCost& cost, StepPlan& plan,
           int num_sub_batches) {
  plan.num_sub_batches = items.empty() ? 0 : 1;
  if (num_sub_batches < 2 || items.size() < 2) return;
  const auto work_of = [](const StepItem& item) {
    return planner::work_of_rows(item.begin, item.num_rows);
  };
  std::vector<planner::StepWork> behind(items.size());  // [i]: of items i and later
  behind.back() = work_of(items.back());
  for (std::size_t i = items.size() - 1; i > 0; --i) {
    behind[i - 1] = behind[i];
    behind[i - 1] += work_of(items[i - 1]);
  }
  planner::StepWork before;
  std::size_t cut = 0;
  double best = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    before += work_of(items[i - 1]);
    const double difference = std::abs(cost.seconds(before) - cost.seconds(behind[i]));
    if (cut == 0 || difference < best) best = difference, cut = i;
  }
  for (std::size_t i = cut; i < items.size(); ++i) items[i].sub_batch = 1;
  plan.num_sub_batches = 2;
}

}  // namespace

StepPlan plan_step(std::span<const WaitingView> waiting, std::span<const RunningView> running,
                   int available_pages, const SchedulerOptions& options,
                   const planner::StepCost& cost) {
  StepPlan plan;
  std::vector<Member> members = keep_running(running, available_pages, options, plan);
  if (plan.preempted.empty()) admit(waiting, available_pages, options, members, plan);
  deal_rows(members, options.max_step_tokens);
  for (const bool decode : {true, false}) {
    for (const Member& member : members) {
      if (member.num_rows == 0 || (member.num_tokens - member.num_computed == 1) != decode) {
        continue;
      }
      plan.items.push_back({member.id, member.num_computed, member.num_rows,
                            member.num_computed + member.num_rows == member.num_tokens, 0});
    }
  }
  split(plan.items, cost, plan, options.num_sub_batches);
  return plan;
}

std::ostream& operator<<(std::ostream& out, const StepPlan& plan) {
  out << "step: " << plan.num_sub_batches << " sub-batches";
  const auto list = [&](const char* name, const std::vector<SequenceId>& ids) {
    if (ids.empty()) return;
    out << "; " << name;
    for (const SequenceId id : ids) out << ' ' << id;
  };
  list("preempt", plan.preempted);
  list("admit", plan.admitted);
  int sub_batch = -1;
  for (const StepItem& item : plan.items) {
    if (item.sub_batch != sub_batch) {
      out << (sub_batch < 0 ? "; run " : "; ") << item.sub_batch << ':';
      sub_batch = item.sub_batch;
    }
    out << ' ' << item.id << '@' << item.begin << '+' << item.num_rows;
    if (item.samples) out << '!';
  }
  return out;
}

}  // namespace tandem::engine
