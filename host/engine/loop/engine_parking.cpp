// SPDX-License-Identifier: Apache-2.0
//
// Preempted sequences: their KV is copied to host memory if copying it twice takes less time than
// computing it again, and is restored when they are admitted.
#include <algorithm>
#include <utility>

#include "engine/loop/engine_loop.h"

namespace tandem::engine {

// Whether the table uses pages of a unit that was lost in this step. Each further page would wait
// for it again.
bool EngineLoop::uses_lost(const PageTable& table) const {
  return std::ranges::any_of(lost_while_parking_,
                             [&](int unit) { return KvCache::touches(table, unit); });
}

// Called before the sequence releases its pages.
void EngineLoop::park(const Sequence& sequence) {
  const int num_tokens = sequence.num_computed;
  if (!parking_.has_room(num_tokens) || uses_lost(sequence.table)) return;
  if (parking_.is_stopped(sequence.table)) return;
  if (planner_ && !planner_->parking_pays(sequence.table.held, num_tokens)) return;
  const int lost = parking_.park(sequence.id(), sequence.table, num_tokens);
  if (lost >= 0) lost_while_parking_.push_back(lost);
  if (parking_.num_tokens(sequence.id()) > 0) ++totals_.parked_sequences;
}

// The number of tokens of a waiting sequence that need not be computed.
int EngineLoop::num_kept_of(const Sequence& sequence, int num_cached) const {
  return std::max(num_cached, parking_.num_tokens(sequence.id()));
}

// Called after all admitted sequences have attached to cached prefixes. False: the sequence
// computes its tokens instead, from the next plan on.
bool EngineLoop::restore(Sequence& sequence) {
  const int parked = parking_.num_tokens(sequence.id());
  if (parked <= sequence.num_computed) {
    parking_.forget(sequence.id());
    return true;
  }
  const std::size_t first = kv_.blocks_for(static_cast<std::size_t>(sequence.num_computed));
  if (!kv_.extend(sequence.table, static_cast<std::size_t>(parked), num_expected(sequence))) {
    return false;
  }
  if (uses_lost(sequence.table)) return false;
  if (parking_.is_stopped(sequence.table)) {
    parking_.forget(sequence.id());
    return false;
  }
  const KvParking::Restored restored = parking_.restore(sequence.id(), sequence.table, first);
  if (restored.lost_unit >= 0) lost_while_parking_.push_back(restored.lost_unit);
  if (restored.late) {
    // The sequence is computed on other pages.
    kv_.withhold(*restored.late);
    requeue_running(sequence.id());
  }
  if (!restored.done) return false;
  totals_.restored_tokens += static_cast<std::uint64_t>(parked - sequence.num_computed);
  sequence.num_computed = sequence.num_restored = parked;
  return true;
}

void EngineLoop::restore(StepPlan& plan) {
  for (const SequenceId id : plan.admitted) {
    const auto it = std::ranges::find_if(running_, [&](const auto& s) { return s->id() == id; });
    if (it == running_.end() || restore(**it)) continue;
    std::erase_if(plan.items, [&](const StepItem& item) { return item.id == id; });
  }
}

bool EngineLoop::lost_a_unit_in_parking() {
  const std::vector<int> lost = std::exchange(lost_while_parking_, {});
  for (const int unit : lost) {
    if (kv_.unit_pages(unit).alive) handle_lost({unit});
  }
  return !lost.empty();
}

}  // namespace tandem::engine
