// SPDX-License-Identifier: Apache-2.0
//
// What follows the loss of an attention unit or of what computes.
#include <algorithm>
#include <utility>

#include "common/error.h"
#include "engine/loop/engine_loop.h"

namespace tandem::engine {
// Continues with the fallback runner, if there is one, without the units that shared the queue of
// the failed one. Some results of the interrupted step may have been delivered. They stay, and
// their sequences compute the same KV again.
bool EngineLoop::replace_compute(const std::string& message) {
  const auto make = std::exchange(fallbacks_.compute, {});
  if (!make) return false;
  remove_finished();  // their last token came before the failure
  std::vector<int> lost = runner_->take_lost();
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const int unit = static_cast<int>(i);
    if (!kv_.unit_pages(unit).alive || std::ranges::find(lost, unit) != lost.end()) continue;
    if (runner_->shares_queue_with(*units_[i].unit)) lost.push_back(unit);
  }
  try {
    const std::unique_ptr<StepRunnerSource> next = make();
    totals_.lost_compute_id = std::exchange(options_.compute_id, next->id());
    std::unique_ptr<StepRunner> runner = next->make(step_shape());
    for (const NamedUnit& unit : units_) runner->add_unit(*unit.unit, unit.id);
    if (runner_->holds_lent()) retired_ = std::move(runner_);
    runner_ = std::move(runner);
  } catch (const std::exception& error) {
    stop_serving(message + ", and its fallback failed: " + error.what());
    return true;
  }
  handle_lost(lost);
  return true;
}

// Units in the compute unit's queue are not asked: a failure there is one of the compute unit.
bool EngineLoop::check_units() {
  std::vector<int> lost;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const int unit = static_cast<int>(i);
    device::AttentionUnit& asked = *units_[i].unit;
    if (!kv_.unit_pages(unit).alive || runner_->shares_queue_with(asked)) continue;
    try {
      if (!asked.is_alive()) lost.push_back(unit);
    } catch (const DeviceError&) {
      lost.push_back(unit);
    } catch (const std::exception& error) {
      if (std::exchange(idle_error_, error.what()) == error.what()) continue;
      if (!options_.on_warning) continue;
      options_.on_warning(units_[i].id +
                          ": cannot ask whether the unit still works: " + error.what());
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
  restore_capacity();
}

// Accepted requests must fit as before. Makes the fallback unit where the other units are too
// small; lowers the limits of requests only when there is no fallback.
void EngineLoop::restore_capacity() {
  int most = 0;
  for (const auto& sequence : running_) most = std::max(most, sequence->most_tokens());
  waiting_.for_each(
      [&](const Sequence& sequence) { most = std::max(most, sequence.most_tokens()); });
  const std::uint32_t left = kv_.num_pages();
  if (left == 0 || kv_.blocks_for(static_cast<std::size_t>(most)) > left) {
    const std::string error = add_fallback();
    if (kv_.num_pages() == 0) {
      return stop_serving("[engine] the last attention unit was lost" + error);
    }
  }
  update_limit();
}

// Empty, or why there is no fallback unit.
std::string EngineLoop::add_fallback() {
  const auto make = std::exchange(fallbacks_.attention, {});
  if (!make) return " and there is no fallback";
  try {
    NamedUnit unit = make();
    if (!unit.unit) throw Error("engine", "no attention unit to fall back to");
    check_unit(unit);
    // Metrics and listings know units by their id, and a lost unit keeps its id.
    while (std::ranges::find(units_, unit.id, &NamedUnit::id) != units_.end()) {
      unit.id += ":fallback";
    }
    add_unit(std::move(unit));
  } catch (const std::exception& error) {
    return std::string(": ") + error.what();
  }
  return {};
}

// Only a loss makes this possible: submit() refuses what does not fit.
void EngineLoop::refuse_oversized() {
  const int most = max_request_tokens_;
  waiting_.erase_if([&](Sequence& sequence) {
    if (sequence.num_tokens() <= most) return false;
    sequence.finish(FinishReason::kError,
                    "[engine] after the loss of an attention unit only " + std::to_string(most) +
                        " tokens fit, the request has " + std::to_string(sequence.num_tokens()));
    deliver(sequence);
    return true;
  });
}

void EngineLoop::fail_all(const std::string& message) {
  for (const auto& sequence : running_) sequence->finish(FinishReason::kError, message);
  remove_finished();
  waiting_.for_each([&](Sequence& sequence) { sequence.finish(FinishReason::kError, message); });
  end_waiting();
}

void EngineLoop::stop_serving(const std::string& message) {
  broken_ = message;
  fail_all(message);
}

}  // namespace tandem::engine
