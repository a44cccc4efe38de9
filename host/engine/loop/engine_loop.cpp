// SPDX-License-Identifier: Apache-2.0
//
// The loop: units, requests, and one iteration. engine_plan.cpp makes its plan, engine_rows.cpp
// runs its rows.
#include "engine/loop/engine_loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/error.h"
#include "engine/planning/measure_costs.h"

namespace tandem::engine {
namespace {

const NamedUnit& first_of(const std::vector<NamedUnit>& units) {
  if (units.empty()) throw Error("engine", "at least one attention unit is needed");
  return units.front();
}

void add_stats(const device::AttentionStats& stats, device::AttentionStats& sum) {
  sum.launches += stats.launches;
  sum.bytes_to_unit += stats.bytes_to_unit;
  sum.bytes_from_unit += stats.bytes_from_unit;
  sum.kv_bytes_read += stats.kv_bytes_read;
  sum.busy_seconds += stats.busy_seconds;
}

EngineOptions checked(EngineOptions options, const model::ModelConfig& config) {
  const auto require = [](bool good, const std::string& what) {
    if (!good) throw Error("engine", what);
  };
  require(options.max_running > 0, "max_running must be positive");
  require(options.max_waiting > 0, "max_waiting must be positive");
  require(options.max_step_tokens > 0, "max_step_tokens must be positive");
  require(options.num_sub_batches >= 0 && options.num_sub_batches <= 2,
          "num_sub_batches must be 0, 1 or 2");
  require(options.context_length >= 0 && options.context_length <= config.context_length,
          "context_length " + std::to_string(options.context_length) +
              " exceeds the model's: " + std::to_string(config.context_length));
  if (options.context_length == 0) options.context_length = config.context_length;
  return options;
}

}  // namespace

EngineLoop::EngineLoop(const model::Model& model, StepRunnerSource& compute,
                       std::vector<NamedUnit> units, const EngineOptions& options,
                       LoopFallbacks fallbacks)
    : config_(model.config()),
      options_(checked(options, config_)),
      fallbacks_(std::move(fallbacks)),
      geometry_(first_of(units).unit->geometry()),
      kv_(geometry_.page_tokens, options_.placement, options_.prefix_cache),
      mover_(kv_, geometry_, options_.device_timeout, *options_.clock),
      parking_(options_.parking_bytes, geometry_, options_.device_timeout, *options_.clock,
               [this](int unit) -> device::AttentionUnit& {
                 return *units_[static_cast<std::size_t>(unit)].unit;
               }),
      runner_(compute.make(step_shape())),
      loaded_weights_(runner_->weights()) {
  runner_->interrupt_when([this] { return interrupts(); });
  if (options_.speculation.make_drafter) {
    speculation_ = std::make_unique<Speculation>(options_.speculation);
  }
  options_.compute_id = compute.id();
  if (options_.timeline != nullptr) track_ = options_.timeline->track("engine", "steps");
  for (const NamedUnit& unit : units) check_unit(unit);
  for (NamedUnit& unit : units) add_unit(std::move(unit));
  make_planner();
  update_limit();
  first_limit_ = max_request_tokens_;
}

StepShape EngineLoop::step_shape() const {
  return {options_.max_step_tokens, geometry_.page_tokens, geometry_.kv_dtype};
}

void EngineLoop::check_unit(const NamedUnit& unit) const {
  const device::AttentionGeometry& g = unit.unit->geometry();
  const auto fail = [&](const std::string& what) {
    throw Error("engine", "attention unit " + unit.id + ": " + what);
  };
  if (g.num_layers != config_.num_layers || g.q_heads != config_.q_heads ||
      g.kv_heads != config_.kv_heads || g.head_dim != config_.head_dim) {
    fail("its layers or heads are not those of the model: make it for the model's geometry");
  }
  if (g.page_tokens != geometry_.page_tokens || g.kv_dtype != geometry_.kv_dtype) {
    fail("its page size or KV type differs from that of the first unit: give all units the same");
  }
  if (unit.unit->capacity().num_pages == 0) fail("it has no pages: give it more memory for KV");
  if (!(unit.share >= 0) || !std::isfinite(unit.share))
    fail("its share must be a positive number or 0");
}

// All lists grow by one, or none does: a fallback that does not fit changes nothing.
void EngineLoop::add_unit(NamedUnit unit) {
  const device::AttentionCapacity capacity = unit.unit->capacity();
  units_.reserve(units_.size() + 1);
  runner_->add_unit(*unit.unit, unit.id);  // the call that may throw
  const int index =
      kv_.add_unit(capacity.num_pages, capacity.read_bandwidth_bytes_per_s, unit.share);
  if (is_own_unit(*runner_, *unit.unit)) kv_.set_near(index);
  units_.push_back(std::move(unit));
  replan_unit(units_.size() - 1);
}

// The lists do not grow, however often a unit is lost and returns.
void EngineLoop::replace_lost(NamedUnit unit) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const int index = static_cast<int>(i);
    if (units_[i].id != unit.id || kv_.unit_pages(index).alive) continue;
    const std::uint32_t num_pages = unit.unit->capacity().num_pages;
    device::AttentionStats& past = past_stats_[unit.id];
    runner_->replace_unit(index, *unit.unit);  // the call that may throw
    kv_.return_unit(index, num_pages, unit.share);
    add_stats(units_[i].unit->stats(), past);
    units_[i] = std::move(unit);
    replan_unit(i);
    return;
  }
  throw Error("engine", "no unit of this name was lost");
}

void EngineLoop::update_limit() {
  const auto held = static_cast<std::int64_t>(kv_.num_pages()) * geometry_.page_tokens;
  max_request_tokens_ = static_cast<int>(std::min<std::int64_t>(options_.context_length, held));
  for (const auto& sequence : running_) sequence->lower_limit(max_request_tokens_);
  waiting_.for_each([&](Sequence& sequence) { sequence.lower_limit(max_request_tokens_); });
}

void EngineLoop::add(std::unique_ptr<Sequence> sequence) {
  const int most = sequence->most_tokens();
  sequence->table.salt = salt_of(sequence->caller());
  waiting_.push_back(std::move(sequence));
  if (!broken_.empty()) return fail_all(broken_);
  // A request accepted before a loss is treated like the requests of that time.
  if (most > max_request_tokens_) restore_capacity();
}

// A number, not a hash, so no two callers share one.
PrefixKey EngineLoop::salt_of(const std::string& caller) {
  if (options_.share_prefixes || caller.empty()) return 0;
  return salts_.try_emplace(caller, salts_.size() + 1).first->second;
}

void EngineLoop::cancel(RequestId id) {
  const auto has_id = [&](const auto& sequence) { return sequence->id() == id; };
  if (const auto it = std::ranges::find_if(running_, has_id); it != running_.end()) {
    (*it)->finish(FinishReason::kCancelled);
    remove_finished();
  } else if (Sequence* sequence = waiting_.find(id); sequence != nullptr) {
    sequence->finish(FinishReason::kCancelled);
    end_waiting();
  }
}

void EngineLoop::cancel_all() {
  waiting_.for_each([](Sequence& sequence) { sequence.finish(FinishReason::kCancelled); });
  end_waiting();
  for (const auto& sequence : running_) sequence->finish(FinishReason::kCancelled);
  remove_finished();
}

void EngineLoop::step() {
  if (idle()) return;
  const trace::Span span = traced("step");
  const Clock::TimePoint begin = options_.clock->now();
  run_s_ = 0;
  try {
    rest_fallback();
    move_pages();
    // A page that is withheld may be missing for the longest request.
    if (kv_.blocks_for(static_cast<std::size_t>(max_request_tokens_)) > kv_.num_pages()) {
      restore_capacity();
    }
    refuse_oversized();
    StepPlan plan = make_plan();
    add_drafts(plan);
    apply(plan);
    if (lost_a_unit_in_parking()) return;  // the rest is planned again
    if (!plan.items.empty()) execute(plan);
    num_failed_steps_ = 0;
  } catch (const DeviceError& error) {
    if (!replace_compute(error.what())) stop_serving(error.what());
  } catch (const std::exception& error) {
    fail_step(error.what());
  }
  if (planner_ && run_s_ > 0) planner_->learn_host(seconds_since(begin) - run_s_);
}

double EngineLoop::seconds_since(Clock::TimePoint begin) const {
  return std::chrono::duration<double>(options_.clock->now() - begin).count();
}

// One bounded slice: between steps no unit has anything in flight.
void EngineLoop::move_pages() {
  if (units_.size() < 2 || running_.empty()) return;
  if (!options_.kv_moves && !moves_pay()) return;
  std::vector<MoveUnit> units;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const UnitPages pages = kv_.unit_pages(static_cast<int>(i));
    units.push_back(
        {pages.alive, pages.total, pages.used, pages.idle, kv_.weight(static_cast<int>(i))});
  }
  std::vector<MoveSequence> sequences;
  std::vector<PageTable*> tables;
  std::vector<std::vector<std::uint32_t>> alone;
  MoveOptions options;
  options.whole_sequences = options_.placement == Placement::kSequences;
  for (const auto& sequence : running_) {
    PageTable& table = sequence->table;
    if (options.whole_sequences) alone.push_back(kv_.held_alone(table));
    const std::span<const std::uint32_t> held =
        options.whole_sequences ? std::span<const std::uint32_t>(alone.back()) : table.held;
    sequences.push_back({held, table.blocks.empty() ? -1 : table.blocks.back().unit});
    tables.push_back(&table);
  }
  options.pressed = std::exchange(preemptions_seen_, totals_.preemptions) != totals_.preemptions;
  options.stopped = mover_.stopped();
  const auto move = plan_move(units, sequences, options);
  if (!move) return;
  const trace::Span span = traced("move pages");
  const auto unit = [&](int index) -> device::AttentionUnit& {
    return *units_[static_cast<std::size_t>(index)].unit;
  };
  const MoveResult result =
      mover_.move(*move, unit(move->from), unit(move->to), tables, options.whole_sequences);
  totals_.moved_pages += result.num_pages;
  if (result.lost_unit >= 0) handle_lost({result.lost_unit});
}

Sequence& EngineLoop::running(SequenceId id) {
  const auto it = std::ranges::find_if(running_, [&](const auto& s) { return s->id() == id; });
  TANDEM_CHECK(it != running_.end());
  return **it;
}

void EngineLoop::remove_finished() {
  for (auto& sequence : running_) {
    if (!sequence->finished()) continue;
    kv_.release(sequence->table);
    deliver(*sequence);
    sequence.reset();
  }
  std::erase(running_, nullptr);
}

// Removes the sequences that have finished in the queue.
void EngineLoop::end_waiting() {
  waiting_.erase_if([&](Sequence& sequence) {
    if (sequence.finished()) deliver(sequence);
    return sequence.finished();
  });
}

// Every sequence that ends passes here, from any list.
void EngineLoop::deliver(Sequence& sequence) {
  if (sequence.finished()) {
    count_end(sequence);
    if (speculation_) speculation_->forget(sequence.id());
    parking_.forget(sequence.id());
    if (on_end) on_end(sequence);
  }
  deliveries_.push_back({sequence.sink(), sequence.take_event()});
}

std::vector<std::string> EngineStatus::lost_units() const {
  std::vector<std::string> ids;
  for (const UnitStatus& unit : units) {
    if (!unit.alive) ids.push_back(unit.id);
  }
  return ids;
}

// Counts a unit that returned, and the lost units of its name, as one.
UnitStatus EngineLoop::status_of(std::size_t index) const {
  const UnitPages pages = kv_.unit_pages(static_cast<int>(index));
  UnitStatus unit{.id = units_[index].id,
                  .alive = pages.alive || is_resting(index),
                  .pages_total = pages.total,
                  .pages_used = pages.used,
                  .pages_cached = pages.idle,
                  .stats = units_[index].unit->stats()};
  if (const auto past = past_stats_.find(unit.id); past != past_stats_.end()) {
    add_stats(past->second, unit.stats);
  }
  if (const auto losses = losses_.find(unit.id); losses != losses_.end()) {
    unit.losses = losses->second;
  }
  return unit;
}

EngineStatus EngineLoop::status() const {
  EngineStatus status = totals_;
  if (speculation_) status.speculation = speculation_->counts();
  status.parked_bytes = parking_.bytes();
  status.running = static_cast<int>(running_.size());
  status.waiting = waiting_.size();
  status.waiting_by_caller = waiting_.num_waiting();
  status.broken = !broken_.empty();
  status.compute_id = options_.compute_id;
  status.compute = runner_->stats();
  if (planner_) status.plan = planner_->status();
  status.steps_by_mode = {steps_by_mode_.begin(), steps_by_mode_.end()};
  for (std::size_t i = 0; i < units_.size(); ++i) status.units.push_back(status_of(i));
  return status;
}

}  // namespace tandem::engine
