// SPDX-License-Identifier: Apache-2.0
//
// EngineLoop: what happens when an attention unit or the compute unit is lost in a step.
#include <algorithm>
#include <utility>

#include "common/error.h"
#include "engine/engine_loop.h"

namespace tandem::engine {
// Goes on with the fallback, where there is one: weights and executor anew, and without the units
// that worked in the queue of the one that failed. Of the interrupted step some rows may have been
// heard, and what they brought stays: their sequences compute the same KV once more.
bool EngineLoop::replace_compute(const std::string& message) {
  const auto make = std::exchange(fallbacks_.compute, {});
  if (!make) return false;
  remove_finished();  // some may have heard of their token before the failure
  std::vector<int> lost = executor_->take_lost();
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const int unit = static_cast<int>(i);
    if (!kv_.unit_pages(unit).alive || std::ranges::find(lost, unit) != lost.end()) continue;
    if (units_[i].unit->works_in_queue_of(*compute_)) lost.push_back(unit);
  }
  try {
    NamedCompute next = make();
    if (!next.unit) throw Error("engine", "no compute unit to fall back to");
    totals_.lost_compute_id = std::exchange(options_.compute_id, next.id);
    options_.compute_bandwidth_bytes_per_s = next.bandwidth_bytes_per_s;
    std::unique_ptr<Executor> executor = make_executor(*next.unit);
    for (const NamedUnit& unit : units_) executor->add_unit(*unit.unit, unit.id);
    if (executor_->holds_lent()) retired_ = std::move(executor_);
    executor_ = std::move(executor);
    fallback_compute_ = std::move(next.unit);
    compute_ = fallback_compute_.get();
  } catch (const std::exception& error) {
    break_down(message + ", and its fallback failed: " + error.what());
    return true;
  }
  handle_lost(lost);
  return true;
}

// Those in the compute unit's queue are left alone: what fails there fails the compute unit.
bool EngineLoop::check_units() {
  std::vector<int> lost;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const int unit = static_cast<int>(i);
    device::AttentionUnit& asked = *units_[i].unit;
    if (!kv_.unit_pages(unit).alive || asked.works_in_queue_of(*compute_)) continue;
    try {
      if (!asked.is_alive()) lost.push_back(unit);
    } catch (const DeviceError&) {
      lost.push_back(unit);
    } catch (const std::exception& error) {
      if (std::exchange(idle_error_, error.what()) == error.what()) continue;
      if (!options_.on_warning) continue;
      options_.on_warning(units_[i].id +
                          ": whether it still works could not be asked: " + error.what());
    }
  }
  if (!lost.empty()) handle_lost(lost);
  return !lost.empty();
}

void EngineLoop::handle_lost(const std::vector<int>& units) {
  for (const int unit : units) kv_.lose_unit(unit);
  for (std::size_t i = running_.size(); i > 0; --i) {
    const PageTable& table = running_[i - 1]->table;
    if (std::ranges::none_of(units, [&](int unit) { return KvCache::touches(table, unit); })) {
      continue;
    }
    requeue(i - 1);
    ++totals_.rebuilt_sequences;
  }
  keep_promises();
}

// What was accepted is to fit as it did then: on the fallback too, where the units that live are
// too small. Only when there is none are limits lowered.
void EngineLoop::keep_promises() {
  int most = 0;
  for (const auto& sequence : running_) most = std::max(most, sequence->most_tokens());
  for (const auto& sequence : waiting_) most = std::max(most, sequence->most_tokens());
  const std::uint32_t left = kv_.num_pages();
  if (left == 0 || kv_.blocks_for(static_cast<std::size_t>(most)) > left) {
    const std::string error = add_fallback();
    if (kv_.num_pages() == 0) {
      return break_down("[engine] the last attention unit was lost" + error);
    }
  }
  update_limit();
}

// Nothing, or why there is none.
std::string EngineLoop::add_fallback() {
  const auto make = std::exchange(fallbacks_.attention, {});
  if (!make) return " and there is no other";
  try {
    NamedUnit unit = make();
    if (!unit.unit) throw Error("engine", "no fallback unit");
    check_unit(unit);
    // Metrics and listings tell units by their id, and a lost unit keeps its own.
    while (std::ranges::find(units_, unit.id, &NamedUnit::id) != units_.end()) {
      unit.id += ":fallback";
    }
    add_unit(std::move(unit));
  } catch (const std::exception& error) {
    return std::string(": ") + error.what();
  }
  return {};
}

// Only a lost unit makes this possible: submit() has refused what never fitted.
void EngineLoop::refuse_what_cannot_fit() {
  const int most = max_request_tokens_;
  std::erase_if(waiting_, [&](const auto& sequence) {
    if (sequence->num_tokens() <= most) return false;
    sequence->finish(FinishReason::kError,
                     "[engine] after the loss of an attention unit only " + std::to_string(most) +
                         " tokens fit, the request has " + std::to_string(sequence->num_tokens()));
    deliver(*sequence);
    return true;
  });
}

void EngineLoop::fail_all(const std::string& message) {
  for (const auto& sequence : running_) sequence->finish(FinishReason::kError, message);
  remove_finished();
  for (const auto& sequence : waiting_) {
    sequence->finish(FinishReason::kError, message);
    deliver(*sequence);
  }
  waiting_.clear();
}

void EngineLoop::break_down(const std::string& message) {
  broken_ = message;
  fail_all(message);
}

}  // namespace tandem::engine
