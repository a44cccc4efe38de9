// SPDX-License-Identifier: Apache-2.0
//
// Queues by caller.
#include "engine/loop/caller_queues.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::engine {
namespace {

std::int64_t least_served(const std::map<std::string, CallerQueue>& callers) {
  std::int64_t least = -1;
  for (const auto& [name, caller] : callers) {
    if (least < 0 || caller.view.served_rows < least) least = caller.view.served_rows;
  }
  return std::max<std::int64_t>(0, least);
}

int priority_of(const std::unique_ptr<Sequence>& sequence) { return sequence->priority(); }

}  // namespace

CallerQueue& CallerQueues::queue_of(const Sequence& sequence) {
  const std::int64_t served = served_rows(sequence.caller());
  const auto [it, added] = callers_.try_emplace(sequence.caller());
  if (added) it->second.view.served_rows = served;
  return it->second;
}

std::int64_t CallerQueues::served_rows(const std::string& caller) const {
  if (const auto present = callers_.find(caller); present != callers_.end()) {
    return present->second.view.served_rows;
  }
  const auto debt = debts_.find(caller);
  return std::max(debt == debts_.end() ? 0 : debt->second, least_served(callers_));
}

void CallerQueues::push_back(std::unique_ptr<Sequence> sequence) {
  CallerQueue& queue = queue_of(*sequence);
  const auto behind =
      std::ranges::upper_bound(queue.waiting, sequence->priority(), {}, priority_of);
  const auto place = queue.waiting.insert(behind, nullptr);  // first the call that may throw
  sequence->queue = &queue;
  *place = std::move(sequence);
  ++num_waiting_;
}

void CallerQueues::push_front(std::unique_ptr<Sequence>& sequence) {
  CallerQueue& queue = queue_of(*sequence);
  const auto before =
      std::ranges::lower_bound(queue.waiting, sequence->priority(), {}, priority_of);
  const auto place = queue.waiting.insert(before, nullptr);
  sequence->queue = &queue;
  *place = std::move(sequence);
  ++num_waiting_;
}

Sequence* CallerQueues::find(SequenceId id) {
  for (auto& [name, caller] : callers_) {
    const auto it = std::ranges::find_if(caller.waiting, [&](auto& s) { return s->id() == id; });
    if (it != caller.waiting.end()) return it->get();
  }
  return nullptr;
}

std::unique_ptr<Sequence> CallerQueues::take(SequenceId id) {
  for (auto& [name, caller] : callers_) {
    const auto it = std::ranges::find_if(caller.waiting, [&](auto& s) { return s->id() == id; });
    if (it == caller.waiting.end()) continue;
    std::unique_ptr<Sequence> sequence = std::move(*it);
    caller.waiting.erase(it);
    --num_waiting_;
    return sequence;
  }
  return nullptr;
}

void CallerQueues::for_each(const std::function<void(Sequence&)>& visit) const {
  for (const auto& [name, caller] : callers_) {
    for (const auto& sequence : caller.waiting) visit(*sequence);
  }
}

void CallerQueues::erase_if(const std::function<bool(Sequence&)>& ends) {
  for (auto& [name, caller] : callers_) {
    num_waiting_ -= static_cast<int>(
        std::erase_if(caller.waiting, [&](const auto& sequence) { return ends(*sequence); }));
  }
}

void CallerQueues::list(std::span<const std::unique_ptr<Sequence>> running,
                        std::int64_t most_credit, std::vector<CallerView>& views) {
  for (auto& [name, caller] : callers_) caller.num_running = 0;
  for (const auto& sequence : running) ++sequence->queue->num_running;
  drop_absent();
  limit_credit(most_credit);
  views.clear();
  for (auto& [name, caller] : callers_) {
    caller.index = static_cast<int>(views.size());
    views.push_back(caller.view);
  }
}

void CallerQueues::drop_absent() {
  std::erase_if(callers_, [this](const auto& item) {
    const CallerQueue& caller = item.second;
    if (caller.num_running > 0 || !caller.waiting.empty()) return false;
    debts_.insert_or_assign(item.first, caller.view.served_rows);
    return true;
  });
  const std::int64_t least = least_served(callers_);
  std::erase_if(debts_, [&](const auto& debt) { return callers_.empty() || debt.second <= least; });
}

void CallerQueues::limit_credit(std::int64_t most_credit) {
  std::int64_t most = 0;
  for (const auto& [name, caller] : callers_) most = std::max(most, caller.view.served_rows);
  for (auto& [name, caller] : callers_) {
    caller.view.served_rows = std::max(caller.view.served_rows, most - most_credit);
  }
}

std::vector<std::pair<std::string, int>> CallerQueues::num_waiting() const {
  std::vector<std::pair<std::string, int>> result;
  for (const auto& [name, caller] : callers_) {
    result.emplace_back(name, static_cast<int>(caller.waiting.size()));
  }
  return result;
}

}  // namespace tandem::engine
