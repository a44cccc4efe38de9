// SPDX-License-Identifier: Apache-2.0
//
// Queues by caller.
#include "engine/loop/caller_queues.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::engine {

CallerQueue& CallerQueues::queue_of(const Sequence& sequence) {
  const auto [it, added] = callers_.try_emplace(sequence.caller());
  if (added) {
    std::int64_t least = -1;
    for (const auto& [name, caller] : callers_) {
      if (&caller == &it->second) continue;
      if (least < 0 || caller.view.served_rows < least) least = caller.view.served_rows;
    }
    it->second.view.served_rows = std::max<std::int64_t>(0, least);
  }
  return it->second;
}

void CallerQueues::push_back(std::unique_ptr<Sequence> sequence) {
  CallerQueue& queue = queue_of(*sequence);
  queue.waiting.push_back(nullptr);  // what may throw comes first
  sequence->queue = &queue;
  queue.waiting.back() = std::move(sequence);
  ++num_waiting_;
}

void CallerQueues::push_front(std::unique_ptr<Sequence>& sequence) {
  CallerQueue& queue = queue_of(*sequence);
  queue.waiting.push_front(nullptr);
  sequence->queue = &queue;
  queue.waiting.front() = std::move(sequence);
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
                        std::vector<CallerView>& views) {
  for (auto& [name, caller] : callers_) caller.num_running = 0;
  for (const auto& sequence : running) ++sequence->queue->num_running;
  std::erase_if(callers_, [](const auto& item) {
    return item.second.num_running == 0 && item.second.waiting.empty();
  });
  views.clear();
  for (auto& [name, caller] : callers_) {
    caller.index = static_cast<int>(views.size());
    views.push_back(caller.view);
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
