// SPDX-License-Identifier: Apache-2.0
//
// The rows of an iteration: runs them and passes the results to their sequences.
//
// If a step is refused, each of its items runs once more, alone. Items that are refused again end
// with the error; all other requests continue. A sequence that already has the result of its
// position ignores the second one.
#include <algorithm>
#include <iterator>
#include <utility>

#include "common/error.h"
#include "engine/loop/engine_loop.h"
#include "engine/scheduler/shares.h"

namespace tandem::engine {
namespace {

// After this many consecutive steps that failed outside the runner, requests are ended.
constexpr int kMostFailedSteps = 2;

int num_rows_of(std::span<const StepItem> items) {
  int rows = 0;
  for (const StepItem& item : items) rows += item.num_rows;
  return rows;
}

}  // namespace

void EngineLoop::list_items(std::span<const StepItem> items) {
  runner_items_.clear();
  for (const StepItem& item : items) {
    Sequence& sequence = running(item.id);
    const auto begin = static_cast<std::size_t>(item.begin);
    const auto num_rows = static_cast<std::size_t>(item.num_rows);
    const int last = item.begin + item.num_rows - 1;
    LogitRows logits = LogitRows::kNone;
    if (sequence.needs_logits(last)) logits = LogitRows::kLast;
    if (sequence.needs_logits(item.begin) && item.num_rows > 1) logits = LogitRows::kAll;
    RunnerItem& added = runner_items_.emplace_back();
    added.tokens = item.num_drafts > 0 ? std::span<const TokenId>(sequence.guessed)
                                       : sequence.tokens().subspan(begin, num_rows);
    added.blocks = sequence.table.blocks;
    added.past = item.begin;
    added.logits = logits;
    added.sub_batch = item.sub_batch;
    if (logits == LogitRows::kLast && runner_->samples()) {
      added.sample = sequence.device_draw(last);
    }
  }
}

void EngineLoop::execute(const StepPlan& plan) {
  const trace::Span span = traced("run");
  const std::span<const StepItem> items = plan.items;
  runs_alone_ = false;
  try {
    // If a caller is held back, the step is already short.
    interruptible_ = may_interrupt_ && !plan.holds_back ? items : std::span<const StepItem>();
    const Clock::TimePoint begin = options_.clock->now();
    if (!run(items)) return;
    may_interrupt_ |= !plan.holds_back;
    if (only_decodes_) {
      const std::chrono::duration<double> time = options_.clock->now() - begin;
      speculation_->record_step(num_rows_of(items), time.count());
    }
  } catch (const DeviceError&) {
    throw;
  } catch (const std::exception& error) {
    return run_alone(items, error.what());
  }
  for (const StepItem& item : items) advance(item);
  remove_finished();
}

// Whether the step ends early for one of the newcomers. The next whole step cannot be interrupted,
// so that callers with many rows advance too.
bool EngineLoop::interrupts() {
  if (interruptible_.empty() || !newcomers) return false;
  const std::vector<Newcomer> arrived = newcomers();
  if (std::ranges::none_of(arrived, [&](const Newcomer& n) { return interrupts(n); })) return false;
  interruptible_ = {};
  may_interrupt_ = false;
  ++totals_.interrupted_steps;
  return interrupted_ = true;
}

bool EngineLoop::interrupts(const Newcomer& newcomer) {
  // A caller whose earlier requests are still here gains nothing by an interruption.
  const auto known = waiting_.callers().find(newcomer.caller);
  if (known != waiting_.callers().end() &&
      (!known->second.waiting.empty() || known->second.num_running > 0)) {
    return false;
  }
  const SchedulerOptions options = scheduler_options();
  const CallerWish first{newcomer.num_tokens, true, waiting_.served_rows(newcomer.caller)};
  std::map<const CallerQueue*, CallerWish> others;
  for (const StepItem& item : interruptible_) {
    const Sequence& sequence = running(item.id);
    if (sequence.caller() == newcomer.caller) continue;
    CallerWish& other = others[sequence.queue];
    const int wanted = sequence.num_tokens() - sequence.num_computed;
    other.num_rows += wanted;
    other.has_prompt |= wanted > 1;
    other.served_rows = sequence.queue->view.served_rows;
  }
  return std::ranges::any_of(
      others, [&](const auto& other) { return goes_before(first, other.second, options); });
}

// False when units were lost or the step was interrupted: then no sequence has advanced.
bool EngineLoop::run(std::span<const StepItem> items) {
  interrupted_ = false;
  list_items(items);
  const auto on_logits = [&](std::size_t index, int row, std::span<const float> logits) {
    const StepItem& item = items[index];
    if (row >= num_kept(item)) return;  // after a wrong guess
    take(item, [&](Sequence& sequence) { sequence.on_logits(item.begin + row, logits); });
  };
  const auto on_token = [&](std::size_t index, TokenId token) {
    const StepItem& item = items[index];
    take(item,
         [&](Sequence& sequence) { sequence.on_token(item.begin + item.num_rows - 1, token); });
  };
  const StepMeasure before = measure();
  const auto traced_from = trace::Timeline::Clock::now();
  const Clock::TimePoint begin = options_.clock->now();
  const std::vector<int> lost = runner_->run(runner_items_, on_logits, on_token);
  run_s_ += seconds_since(begin);
  if (!interrupted_) ++totals_.steps;
  if (!lost.empty()) {
    std::vector<int> silent;
    std::ranges::copy_if(lost, std::back_inserter(silent),
                         [&](int unit) { return runner_->is_silent(unit); });
    handle_lost(lost, silent);
  }
  if (!lost.empty() || interrupted_) return false;
  count_rows(items);
  if (planner_ && !runs_alone_) {
    learn(before);
    trace_prediction(traced_from);
  }
  return true;
}

void EngineLoop::run_alone(std::span<const StepItem> items, const std::string& message) {
  interruptible_ = {};
  ++totals_.refused_steps;
  runs_alone_ = true;
  warn("a step of " + std::to_string(items.size()) +
       " requests was refused, each runs again alone: " + message);
  for (StepItem item : items) {
    Sequence& sequence = running(item.id);
    if (sequence.finished()) continue;
    item.sub_batch = 0;
    if (item.num_drafts > 0) {  // some guesses may be known tokens by now
      item.num_drafts = 0;
      item.num_rows = sequence.num_tokens() - item.begin;
    }
    try {
      if (!run({&item, 1})) return;  // a unit was lost: the rest is planned again
      advance(item);
    } catch (const DeviceError&) {
      throw;
    } catch (const std::exception& error) {
      sequence.finish(FinishReason::kError, error.what());
    }
  }
  remove_finished();
}

// Passes a result of the step to its sequence. An error there ends only this sequence.
void EngineLoop::take(const StepItem& item, const std::function<void(Sequence&)>& result) {
  Sequence& sequence = running(item.id);
  const int before = sequence.num_generated();
  try {
    result(sequence);
    totals_.generated_tokens += static_cast<std::uint64_t>(sequence.num_generated() - before);
    if (on_token) on_token(sequence);
  } catch (const std::exception& error) {
    sequence.finish(FinishReason::kError, error.what());  // the others go on
  }
}

void EngineLoop::advance(const StepItem& item) {
  Sequence& sequence = running(item.id);
  const int num_rows = num_kept(item);
  sequence.num_computed = item.begin + num_rows;
  if (item.num_drafts > 0) speculation_->record(item.id, item.num_drafts, num_rows - 1);
  if (sequence.failed()) return;  // its pages may be damaged: not published
  try {
    kv_.publish(sequence.table, sequence.tokens(), static_cast<std::size_t>(sequence.num_computed));
    // A request that only scores its prompt ends here; sampling ends the others.
    if (sequence.num_computed == sequence.num_tokens()) sequence.finish(FinishReason::kLength);
    if (sequence.has_event() && !sequence.finished()) deliver(sequence);
  } catch (const std::exception& error) {
    sequence.finish(FinishReason::kError, error.what());
  }
}

// A step failed before its rows ran. The next one plans again; the second failure in a row ends the
// running requests, or else the oldest queued one of each caller.
void EngineLoop::fail_step(const std::string& message) {
  warn("a step failed: " + message);
  if (++num_failed_steps_ < kMostFailedSteps) return;
  num_failed_steps_ = 0;
  if (!running_.empty()) {
    for (const auto& sequence : running_) sequence->finish(FinishReason::kError, message);
    return remove_finished();
  }
  for (const auto& [name, caller] : waiting_.callers()) {
    if (!caller.waiting.empty()) {
      caller.waiting.front()->finish(FinishReason::kError, message);
    }
  }
  end_waiting();
}

void EngineLoop::warn(const std::string& text) const {
  if (options_.on_warning) options_.on_warning(text);
}

void EngineLoop::notify(const std::string& text) const {
  if (options_.on_notice) options_.on_notice(text);
}

}  // namespace tandem::engine
