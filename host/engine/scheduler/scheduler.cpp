// SPDX-License-Identifier: Apache-2.0
//
// The scheduler: first slots and pages (who runs), then rows (how many for each), then sub-batches.
#include "engine/scheduler/scheduler.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "engine/scheduler/shares.h"

namespace tandem::engine {
namespace {

// Sequences that would get no row stay in the queue, because more of their prompt may be cached
// later. Exception: others were preempted for them.
void leave_rowless(std::vector<Member>& members, StepPlan& plan) {
  if (!plan.preempted.empty()) return;
  std::erase_if(members, [&](const Member& member) {
    if (!member.admitted || member.num_rows > 0) return false;
    std::erase(plan.admitted, member.id);
    return true;
  });
}

// Divides the items, as listed, where the times of both sides differ least.
void split(std::vector<StepItem>& items, const planner::StepCost& cost, StepPlan& plan,
           int num_sub_batches) {
  plan.num_sub_batches = items.empty() ? 0 : 1;
  if (num_sub_batches < 2 || items.size() < 2) return;
  const auto work_of = [](const StepItem& item) {
    return planner::work_of_rows(item.begin, item.num_rows);
  };
  std::vector<planner::StepWork> behind(items.size());  // [i]: the work of items i and later
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

StepPlan plan_step(const QueueView& queue, const SchedulerOptions& options,
                   const planner::StepCost& cost) {
  StepPlan plan;
  std::vector<Member> members = choose_members(queue, options, plan);
  plan.holds_back = deal_rows(members, queue.callers, options);
  leave_rowless(members, plan);
  for (const bool decode : {true, false}) {
    for (const Member& member : members) {
      if (member.num_rows == 0 || member.decodes() != decode) continue;
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
  if (plan.holds_back) out << "; hold back";
  int sub_batch = -1;
  for (const StepItem& item : plan.items) {
    if (item.sub_batch != sub_batch) {
      out << (sub_batch < 0 ? "; run " : "; ") << item.sub_batch << ':';
      sub_batch = item.sub_batch;
    }
    out << ' ' << item.id << '@' << item.begin << '+' << item.num_rows;
    if (item.num_drafts > 0) out << '~' << item.num_drafts;
    if (item.samples) out << '!';
  }
  return out;
}

}  // namespace tandem::engine
