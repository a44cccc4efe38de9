// SPDX-License-Identifier: Apache-2.0
//
// Slots and pages: which sequences keep running, are preempted, or are admitted.
#include <algorithm>

#include "engine/scheduler/shares.h"

namespace tandem::engine {
namespace {

int blocks_for(int num_tokens, int page_tokens) {
  return (num_tokens + page_tokens - 1) / page_tokens;
}

class Admission {
 public:
  Admission(const QueueView& queue, const SchedulerOptions& options, StepPlan& plan);
  void keep_running();
  void admit();
  std::vector<Member> members() const;

 private:
  struct Kept {
    const RunningView* view = nullptr;
    int reserved = 0;  // pages for known tokens that it still needs
    bool preempted = false;
    int pages() const { return view->num_sole + reserved; }  // that end with it
  };
  struct Caller {
    std::vector<const WaitingView*> waiting;
    std::size_t next = 0;  // index of the next waiting request
    bool blocked = false;
    int slots = 0, pages = 0;
    std::int64_t served_rows = 0;
  };

  Caller& caller_of(int index) { return callers_[static_cast<std::size_t>(index)]; }
  void preempt(std::size_t index);
  bool join(Caller& caller);
  void undo_preemptions(std::size_t num_left);
  std::size_t newest_of(const Caller& caller) const;
  std::size_t page_victim();
  Caller* overdue_caller();
  Caller* next_caller();
  bool make_room(Caller& caller, const WaitingView& sequence);
  bool free_slot(Caller& caller);
  bool free_pages(Caller& caller, int wanted);
  bool free_pages_of_turns(int wanted);
  bool free_slot_below(const Caller& caller, int priority);
  bool free_pages_below(const Caller& caller, int priority, int wanted);
  const Caller* largest(int Caller::*amount) const;

  const SchedulerOptions& options_;
  StepPlan& plan_;
  std::vector<Kept> kept_;
  std::vector<Caller> callers_;
  std::vector<const WaitingView*> joined_;
  int available_, num_members_;
  int most_;  // members: each takes at least one row
  double slot_share_, page_share_;
  bool head_waits_ =
      false;  // the head waits for pages: others may pass it only within their shares
  bool counts_on_cache_ = false;  // an admitted sequence attaches to pages of running ones
};

Admission::Admission(const QueueView& queue, const SchedulerOptions& options, StepPlan& plan)
    : options_(options),
      plan_(plan),
      callers_(std::max<std::size_t>(1, queue.callers.size())),
      available_(queue.available_pages),
      num_members_(static_cast<int>(queue.running.size())),
      most_(std::min(options.max_running, options.max_step_tokens)) {
  for (std::size_t i = 0; i < queue.callers.size(); ++i) {
    callers_[i].served_rows = queue.callers[i].served_rows;
  }
  kept_.reserve(queue.running.size());
  for (const RunningView& sequence : queue.running) {
    kept_.push_back({&sequence, 0, false});
    ++caller_of(sequence.caller).slots;
    caller_of(sequence.caller).pages += sequence.num_sole;
  }
  for (const WaitingView& sequence : queue.waiting) {
    caller_of(sequence.caller).waiting.push_back(&sequence);
  }
  const auto num_callers = static_cast<double>(callers_.size());
  slot_share_ = most_ / num_callers;
  page_share_ = queue.total_pages / num_callers;
}

void Admission::preempt(std::size_t index) {
  Kept& kept = kept_[index];
  kept.preempted = true;
  Caller& caller = caller_of(kept.view->caller);
  --caller.slots;
  caller.pages -= kept.pages();
  available_ += kept.pages();
  --num_members_;
  plan_.preempted.push_back(kept.view->id);
}

void Admission::undo_preemptions(std::size_t num_left) {
  while (plan_.preempted.size() > num_left) {
    Kept& kept = *std::ranges::find_if(
        kept_, [&](const Kept& k) { return k.view->id == plan_.preempted.back(); });
    kept.preempted = false;
    Caller& caller = caller_of(kept.view->caller);
    ++caller.slots;
    caller.pages += kept.pages();
    available_ -= kept.pages();
    ++num_members_;
    plan_.preempted.pop_back();
  }
}

// Its newest running sequence of the worst priority that may be preempted; kept_.size(): there is
// none.
std::size_t Admission::newest_of(const Caller& caller) const {
  std::size_t newest = kept_.size();
  for (std::size_t i = kept_.size(); i > 0; --i) {
    const Kept& kept = kept_[i - 1];
    if (kept.preempted || kept.view->overdue) continue;
    if (&callers_[static_cast<std::size_t>(kept.view->caller)] != &caller) continue;
    if (newest == kept_.size() || kept.view->priority > kept_[newest].view->priority) {
      newest = i - 1;
    }
  }
  return newest;
}

const Admission::Caller* Admission::largest(int Caller::*amount) const {
  return &*std::ranges::max_element(callers_, {}, amount);
}

// If a running sequence needs a page, the newest sequence of the caller with the most pages is
// preempted.
std::size_t Admission::page_victim() {
  const std::size_t victim = newest_of(*largest(&Caller::pages));
  if (victim < kept_.size()) return victim;
  std::size_t newest = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i].preempted) continue;
    if (kept_[newest].preempted || kept_[newest].view->overdue || !kept_[i].view->overdue) {
      newest = i;
    }
  }
  return newest;
}

// Reserves pages for all known tokens of the sequences that stay.
void Admission::keep_running() {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const RunningView& sequence = *kept_[i].view;
    const int missing =
        std::max(0, blocks_for(sequence.num_tokens, options_.page_tokens) - sequence.num_blocks);
    while (!kept_[i].preempted && missing > available_) preempt(page_victim());
    if (kept_[i].preempted) continue;
    available_ -= missing;
    kept_[i].reserved = missing;
    caller_of(sequence.caller).pages += missing;
  }
}

Admission::Caller* Admission::next_caller() {
  Caller* best = nullptr;
  for (Caller& caller : callers_) {
    if (caller.blocked || caller.next == caller.waiting.size()) continue;
    if (best == nullptr || caller.slots < best->slots ||
        (caller.slots == best->slots && caller.served_rows < best->served_rows)) {
      best = &caller;
    }
  }
  return best;
}

// The caller whose first request is overdue; of several the one with the oldest. Null: there is
// none.
Admission::Caller* Admission::overdue_caller() {
  Caller* oldest = nullptr;
  for (Caller& caller : callers_) {
    if (caller.waiting.empty() || !caller.waiting.front()->overdue) continue;
    if (oldest == nullptr || caller.waiting.front()->id < oldest->waiting.front()->id) {
      oldest = &caller;
    }
  }
  return oldest;
}

// While an overdue request waits, no other request gets pages or slots that become free.
void Admission::admit() {
  if (Caller* caller = overdue_caller(); caller != nullptr && !join(*caller)) return;
  while (Caller* caller = next_caller()) caller->blocked = !join(*caller);
}

bool Admission::join(Caller& caller) {
  const WaitingView& sequence = *caller.waiting[caller.next];
  const std::size_t num_preempted = plan_.preempted.size();
  if (!make_room(caller, sequence)) {
    undo_preemptions(num_preempted);
    return false;
  }
  ++caller.next;
  ++caller.slots;
  ++num_members_;
  joined_.push_back(&sequence);
  plan_.admitted.push_back(sequence.id);
  return true;
}

bool Admission::make_room(Caller& caller, const WaitingView& sequence) {
  if (num_members_ >= most_ && !free_slot(caller) && !free_slot_below(caller, sequence.priority)) {
    return false;
  }
  const int blocks = blocks_for(sequence.num_tokens, options_.page_tokens);
  // After a preemption the cached blocks may have no holder any more: then each costs a page.
  const auto wanted = [&] {
    return plan_.preempted.empty() ? blocks - sequence.num_cached_in_use : blocks;
  };
  if (head_waits_ && caller.pages + wanted() > page_share_) return false;
  if (wanted() + num_members_ > available_ && !free_pages(caller, blocks) &&
      !free_pages_below(caller, sequence.priority, blocks) &&
      !(sequence.overdue && free_pages_of_turns(blocks))) {
    head_waits_ = true;
    return false;
  }
  available_ -= wanted();
  caller.pages += wanted();
  counts_on_cache_ |= plan_.preempted.empty() && sequence.num_cached_in_use > 0;
  return true;
}

bool Admission::free_slot(Caller& caller) {
  const Caller& other = *largest(&Caller::slots);
  if (counts_on_cache_ || other.slots <= slot_share_) return false;
  if (caller.slots + 1 <= slot_share_) {
    const std::size_t victim = newest_of(other);
    if (victim == kept_.size()) return false;  // all of them were admitted in this step
    preempt(victim);
    return true;
  }
  if (caller.slots > 0) return false;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const bool beyond = caller_of(kept_[i].view->caller).slots > slot_share_;
    if (kept_[i].preempted || !beyond || !kept_[i].view->had_turn) continue;
    preempt(i);
    return true;
  }
  return false;
}

// Frees pages for `wanted` and one per member, from callers above their share.
bool Admission::free_pages(Caller& caller, int wanted) {
  if (counts_on_cache_ || caller.pages + wanted > page_share_) return false;
  while (wanted + num_members_ > available_) {
    const Caller& other = *largest(&Caller::pages);
    if (&other == &caller || other.pages <= page_share_) return false;
    const std::size_t victim = newest_of(other);
    if (victim == kept_.size()) return false;
    preempt(victim);
  }
  return true;
}

// The same from sequences of any caller that have had their turn, newest first.
bool Admission::free_pages_of_turns(int wanted) {
  for (std::size_t i = kept_.size(); i > 0 && wanted + num_members_ > available_; --i) {
    if (!kept_[i - 1].preempted && kept_[i - 1].view->had_turn) preempt(i - 1);
  }
  return wanted + num_members_ <= available_;
}

// Preempts one of the caller's own sequences with worse priority.
bool Admission::free_slot_below(const Caller& caller, int priority) {
  const std::size_t victim = newest_of(caller);
  if (counts_on_cache_ || victim == kept_.size()) return false;
  if (kept_[victim].view->priority <= priority) return false;
  preempt(victim);
  return true;
}

bool Admission::free_pages_below(const Caller& caller, int priority, int wanted) {
  while (wanted + num_members_ > available_) {
    if (!free_slot_below(caller, priority)) return false;
  }
  return true;
}

std::vector<Member> Admission::members() const {
  std::vector<Member> members;
  members.reserve(kept_.size() + joined_.size());
  for (const Kept& kept : kept_) {
    if (kept.preempted) continue;
    const RunningView& s = *kept.view;
    members.push_back(
        {s.id, s.caller, s.num_tokens, s.num_computed, s.last_step, false, 0, s.priority});
  }
  for (const WaitingView* s : joined_) {
    members.push_back(
        {s->id, s->caller, s->num_tokens, s->num_cached_tokens, 0, true, 0, s->priority});
  }
  return members;
}

}  // namespace

std::vector<Member> choose_members(const QueueView& queue, const SchedulerOptions& options,
                                   StepPlan& plan) {
  Admission admission(queue, options, plan);
  admission.keep_running();
  if (plan.preempted.empty()) admission.admit();
  return admission.members();
}

}  // namespace tandem::engine
