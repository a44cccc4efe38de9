// SPDX-License-Identifier: Apache-2.0
//
// Handles the loss of an attention unit or of the compute unit.
#include <algorithm>
#include <utility>

#include "common/error.h"
#include "engine/loop/engine_loop.h"
#include "engine/loop/lost_unit.h"
#include "engine/planning/measure_costs.h"

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
    runner_->interrupt_when([this] { return interrupts(); });
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const int unit = static_cast<int>(i);
      if (kv_.unit_pages(unit).alive && is_own_unit(*runner_, *units_[i].unit)) kv_.set_near(unit);
    }
    make_planner_anew();
  } catch (const std::exception& error) {
    stop_serving(message + ", and its fallback failed: " + error.what());
    return true;
  }
  handle_lost(lost, {}, false);
  return true;
}

// Units in the compute unit's queue are not asked: a failure there is one of the compute unit.
bool EngineLoop::check_units(UnitsAsked asked) {
  std::vector<int> lost, silent;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const int unit = static_cast<int>(i);
    const UnitPages pages = kv_.unit_pages(unit);
    if (!pages.alive || runner_->shares_queue_with(*units_[i].unit)) continue;
    if (asked == UnitsAsked::kUnused && pages.used > 0) continue;
    try {
      const Answer answer = ask(units_[i]);
      if (answer != Answer::kGiven) lost.push_back(unit);
      if (answer == Answer::kMissing) silent.push_back(unit);
    } catch (const DeviceError&) {
      lost.push_back(unit);
    } catch (const std::exception& error) {
      if (std::exchange(idle_error_, error.what()) == error.what()) continue;
      warn(units_[i].id + ": the check whether the unit still works failed: " + error.what());
    }
  }
  if (!lost.empty()) handle_lost(lost, silent);
  return !lost.empty();
}

// By contract is_alive() is true for a silent device too, but only after it has waited for the
// answer. The answer is missing when the device timeout has passed.
EngineLoop::Answer EngineLoop::ask(const NamedUnit& asked) {
  constexpr std::chrono::milliseconds kAtOnce{80};
  const Clock::TimePoint begin = options_.clock->now();
  if (!asked.unit->is_alive()) return Answer::kDead;
  const Clock::TimePoint end = options_.clock->now();
  if (end - begin < kAtOnce) {
    silent_since_.erase(asked.id);
    return Answer::kGiven;
  }
  const Clock::TimePoint since = silent_since_.try_emplace(asked.id, begin).first->second;
  return end - since < options_.device_timeout ? Answer::kGiven : Answer::kMissing;
}

void EngineLoop::handle_lost(const std::vector<int>& units, const std::vector<int>& silent,
                             bool may_return) {
  for (const int unit : units) kv_.lose_unit(unit);
  const std::uint64_t before = totals_.rebuilt_sequences;
  for (std::size_t i = running_.size(); i > 0; --i) {
    const PageTable& table = running_[i - 1]->table;
    if (std::ranges::none_of(units, [&](int unit) { return KvCache::touches(table, unit); })) {
      continue;
    }
    requeue(i - 1);
    ++totals_.rebuilt_sequences;
  }
  const std::uint64_t rebuilt = totals_.rebuilt_sequences - before;
  const std::string requests = rebuilt == 1 ? " request is" : " requests are";
  for (const int unit : units) {
    NamedUnit& lost = units_[static_cast<std::size_t>(unit)];
    silent_since_.erase(lost.id);
    ++losses_[lost.id];
    const bool is_silent = std::ranges::find(silent, unit) != silent.end();
    const std::string timeout = std::to_string(options_.device_timeout.count()) + " ms";
    warn("attention unit " + lost.id + " is lost: it " +
         (is_silent ? "gave no answer for " + timeout : "failed") + "; " + std::to_string(rebuilt) +
         requests + " computed again");
    if (may_return && fallbacks_.lost_units_return) give_away(lost);
  }
  restore_capacity();
}

// No work of the unit is in flight, and the runner does not use a unit without pages.
void EngineLoop::give_away(NamedUnit& lost) {
  auto in_its_place = std::make_unique<LostUnit>(*lost.unit);
  lost_units_.push_back({lost.id, std::move(lost.unit), lost.share});
  lost.unit = std::move(in_its_place);
}

void EngineLoop::return_unit(NamedUnit unit) {
  const std::string id = unit.id;
  try {
    check_unit(unit);
    replace_lost(std::move(unit));
  } catch (const std::exception& error) {
    return warn("attention unit " + id + " is back, but cannot be used: " + error.what());
  }
  notify("attention unit " + id + " is back");
  if (std::exchange(all_units_lost_, false)) broken_.clear();
  update_limit();
}

// The tokens that an accepted request may reach.
int EngineLoop::longest_request() const {
  int most = 0;
  for (const auto& sequence : running_) most = std::max(most, sequence->most_tokens());
  waiting_.for_each(
      [&](const Sequence& sequence) { most = std::max(most, sequence.most_tokens()); });
  return most;
}

// The operator did not name the fallback, so it works only while the others are too small. Its
// sequences are computed again on the others.
void EngineLoop::rest_fallback() {
  if (fallback_ < 0) return;
  const UnitPages pages = kv_.unit_pages(fallback_);
  const auto most = static_cast<std::size_t>(std::max(first_limit_, longest_request()));
  if (!pages.alive || kv_.blocks_for(most) + pages.total > kv_.num_pages()) return;
  kv_.lose_unit(fallback_);
  for (std::size_t i = running_.size(); i > 0; --i) {
    if (KvCache::touches(running_[i - 1]->table, fallback_)) requeue(i - 1);
  }
  fallback_rests_ = true;
  notify("attention unit " + units_[static_cast<std::size_t>(fallback_)].id +
         " rests: the others suffice again");
  update_limit();
}

// Accepted requests must fit as before. Makes the fallback unit where the other units are too
// small; lowers the limits of requests only when there is no fallback.
void EngineLoop::restore_capacity() {
  const int most = longest_request();
  const std::uint32_t left = kv_.num_pages();
  if (left == 0 || kv_.blocks_for(static_cast<std::size_t>(most)) > left) {
    const std::string error = add_fallback();
    if (kv_.num_pages() == 0) {
      all_units_lost_ = true;
      return stop_serving("[engine] the last attention unit was lost" + error);
    }
  }
  update_limit();
}

// Empty, or the reason why there is no fallback unit.
std::string EngineLoop::add_fallback() {
  if (std::exchange(fallback_rests_, false)) {
    const NamedUnit& unit = units_[static_cast<std::size_t>(fallback_)];
    kv_.return_unit(fallback_, unit.unit->capacity().num_pages, unit.share);
    notify("attention unit " + unit.id + " works again, because the others do not suffice");
    return {};
  }
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
    fallback_ = static_cast<int>(units_.size()) - 1;
  } catch (const std::exception& error) {
    return std::string(": ") + error.what();
  }
  return {};
}

// Only the loss of a unit, or of a page to a late copy, makes this possible: submit() refuses
// requests that do not fit.
void EngineLoop::refuse_oversized() {
  const int most = max_request_tokens_;
  waiting_.erase_if([&](Sequence& sequence) {
    if (sequence.num_tokens() <= most) return false;
    sequence.finish(FinishReason::kError,
                    "[engine] after the loss of an attention unit or of its pages only " +
                        std::to_string(most) + " tokens fit, the request has " +
                        std::to_string(sequence.num_tokens()));
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
