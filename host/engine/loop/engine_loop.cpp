// SPDX-License-Identifier: Apache-2.0
//
// One iteration: plan, pages, rows, results.
#include "engine/loop/engine_loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/error.h"

namespace tandem::engine {
namespace {

const NamedUnit& first_of(const std::vector<NamedUnit>& units) {
  if (units.empty()) throw Error("engine", "at least one attention unit is needed");
  return units.front();
}

EngineOptions checked(EngineOptions options, const model::ModelConfig& config) {
  const auto require = [](bool good, const std::string& what) {
    if (!good) throw Error("engine", what);
  };
  require(options.max_running > 0, "max_running must be positive");
  require(options.max_waiting > 0, "max_waiting must be positive");
  require(options.max_step_tokens > 0, "max_step_tokens must be positive");
  require(options.num_sub_batches == 1 || options.num_sub_batches == 2,
          "num_sub_batches must be 1 or 2");
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
      runner_(compute.make(step_shape())),
      loaded_weights_(runner_->weights()) {
  options_.compute_id = compute.id();
  if (options_.timeline != nullptr) track_ = options_.timeline->track("engine", "steps");
  for (const NamedUnit& unit : units) check_unit(unit);
  for (NamedUnit& unit : units) add_unit(std::move(unit));
  update_limit();
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

// All lists grow by one, or none does: a fallback that does not fit leaves no trace.
void EngineLoop::add_unit(NamedUnit unit) {
  const device::AttentionCapacity capacity = unit.unit->capacity();
  units_.reserve(units_.size() + 1);
  runner_->add_unit(*unit.unit, unit.id);  // the call that may throw
  kv_.add_unit(capacity.num_pages, capacity.read_bandwidth_bytes_per_s, unit.share);
  units_.push_back(std::move(unit));
}

void EngineLoop::update_limit() {
  const auto held = static_cast<std::int64_t>(kv_.num_pages()) * geometry_.page_tokens;
  max_request_tokens_ = static_cast<int>(std::min<std::int64_t>(options_.context_length, held));
  for (const auto& sequence : running_) sequence->lower_limit(max_request_tokens_);
  for (const auto& sequence : waiting_) sequence->lower_limit(max_request_tokens_);
}

void EngineLoop::add(std::unique_ptr<Sequence> sequence) {
  waiting_.push_back(std::move(sequence));
  if (!broken_.empty()) return fail_all(broken_);
  // Accepted before a loss that the loop has handled: treated like the requests of that time.
  if (waiting_.back()->most_tokens() > max_request_tokens_) restore_capacity();
}

void EngineLoop::cancel(RequestId id) {
  const auto has_id = [&](const auto& sequence) { return sequence->id() == id; };
  if (const auto it = std::ranges::find_if(running_, has_id); it != running_.end()) {
    (*it)->finish(FinishReason::kCancelled);
    remove_finished();
  } else if (const auto at = std::ranges::find_if(waiting_, has_id); at != waiting_.end()) {
    (*at)->finish(FinishReason::kCancelled);
    deliver(**at);
    waiting_.erase(at);
  }
}

void EngineLoop::cancel_all() {
  while (!waiting_.empty()) cancel(waiting_.front()->id());
  while (!running_.empty()) cancel(running_.front()->id());
}

void EngineLoop::step() {
  if (idle()) return;
  const trace::Span span = traced("step");
  try {
    move_pages();
    refuse_oversized();
    const StepPlan plan = make_plan();
    apply(plan);
    if (!plan.items.empty() && execute(plan)) advance(plan);
  } catch (const DeviceError& error) {
    if (!replace_compute(error.what())) stop_serving(error.what());
  } catch (const std::exception& error) {
    fail_all(error.what());
  }
}

// One bounded slice: between steps no unit has anything in flight.
void EngineLoop::move_pages() {
  if (!options_.kv_moves || units_.size() < 2 || running_.empty()) return;
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

StepPlan EngineLoop::make_plan() {
  const trace::Span span = traced("plan");
  view_running(running_views_);
  view_waiting(waiting_views_);
  SchedulerOptions options;
  options.max_running = options_.max_running;
  options.max_step_tokens = options_.max_step_tokens;
  options.num_sub_batches = options_.num_sub_batches;
  options.page_tokens = geometry_.page_tokens;
  return plan_step(waiting_views_, running_views_, static_cast<int>(kv_.num_available()), options,
                   *options_.step_cost);
}

void EngineLoop::view_running(std::vector<RunningView>& views) {
  views.clear();
  std::size_t missing = 0;
  for (const auto& sequence : running_) {
    const std::size_t blocks = sequence->table.blocks.size();
    const std::size_t wanted = kv_.blocks_for(sequence->tokens().size());
    missing += wanted - std::min(wanted, blocks);
    views.push_back({sequence->id(), sequence->num_tokens(), sequence->num_computed,
                     static_cast<int>(blocks), 0});
  }
  if (missing <= kv_.num_available()) return;  // no preemption, so that num_sole is not read
  for (std::size_t i = 0; i < running_.size(); ++i) {
    views[i].num_sole = static_cast<int>(kv_.num_sole(running_[i]->table));
  }
}

// Only as many as one step can admit, because each view costs a lookup in the prefix index.
void EngineLoop::view_waiting(std::vector<WaitingView>& views) {
  views.clear();
  int rows = 0;
  int room = options_.max_running - static_cast<int>(running_.size());
  for (const auto& sequence : waiting_) {
    if (room-- <= 0 || rows >= options_.max_step_tokens) break;
    PrefixProbe probe;
    if (sequence->may_use_prefix_cache()) probe = kv_.probe(sequence->tokens());
    const int cached = static_cast<int>(probe.num_blocks) * geometry_.page_tokens;
    views.push_back(
        {sequence->id(), sequence->num_tokens(), cached, static_cast<int>(probe.num_in_use)});
    rows += sequence->num_tokens() - cached;
  }
}

Sequence& EngineLoop::running(SequenceId id) {
  const auto it = std::ranges::find_if(running_, [&](const auto& s) { return s->id() == id; });
  TANDEM_CHECK(it != running_.end());
  return **it;
}

// Releases the pages of a running sequence and puts it at the head of the queue.
void EngineLoop::requeue(std::size_t index) {
  std::unique_ptr<Sequence> sequence = std::move(running_[index]);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
  kv_.release(sequence->table);
  sequence->num_computed = 0;
  waiting_.push_front(std::move(sequence));
}

void EngineLoop::apply(const StepPlan& plan) {
  for (const SequenceId id : plan.preempted) {
    TANDEM_CHECK_OP(running_.back()->id(), ==, id);
    requeue(running_.size() - 1);
    ++totals_.preemptions;
  }
  // All attach before any takes a page: taking one could evict a prefix that the plan counts on.
  for (const SequenceId id : plan.admitted) {
    TANDEM_CHECK_OP(waiting_.front()->id(), ==, id);
    std::unique_ptr<Sequence> sequence = std::move(waiting_.front());
    waiting_.pop_front();
    if (sequence->may_use_prefix_cache()) {
      sequence->num_computed = static_cast<int>(kv_.attach(sequence->table, sequence->tokens()));
    }
    if (sequence->on_scheduled(sequence->num_computed)) {
      totals_.prompt_tokens += static_cast<std::uint64_t>(sequence->num_prompt_tokens());
      totals_.cached_tokens += static_cast<std::uint64_t>(sequence->num_computed);
    }
    running_.push_back(std::move(sequence));
  }
  for (const StepItem& item : plan.items) {
    Sequence& sequence = running(item.id);
    TANDEM_CHECK(kv_.extend(sequence.table, sequence.tokens().size()));
  }
}

void EngineLoop::list_items(const StepPlan& plan) {
  runner_items_.clear();
  for (const StepItem& item : plan.items) {
    Sequence& sequence = running(item.id);
    const auto begin = static_cast<std::size_t>(item.begin);
    const auto num_rows = static_cast<std::size_t>(item.num_rows);
    const int last = item.begin + item.num_rows - 1;
    LogitRows logits = LogitRows::kNone;
    if (sequence.needs_logits(last)) logits = LogitRows::kLast;
    if (sequence.needs_logits(item.begin) && item.num_rows > 1) logits = LogitRows::kAll;
    RunnerItem& added = runner_items_.emplace_back();
    added.tokens = sequence.tokens().subspan(begin, num_rows);
    added.blocks = sequence.table.blocks;
    added.past = item.begin;
    added.logits = logits;
    added.sub_batch = item.sub_batch;
    if (logits == LogitRows::kLast && runner_->samples()) {
      added.sample = sequence.device_draw(last);
    }
  }
}

bool EngineLoop::execute(const StepPlan& plan) {
  const trace::Span span = traced("run");
  list_items(plan);
  const auto on_logits = [&](std::size_t index, int row, std::span<const float> logits) {
    const StepItem& item = plan.items[index];
    take(item, [&](Sequence& sequence) { sequence.on_logits(item.begin + row, logits); });
  };
  const auto on_token = [&](std::size_t index, TokenId token) {
    const StepItem& item = plan.items[index];
    take(item,
         [&](Sequence& sequence) { sequence.on_token(item.begin + item.num_rows - 1, token); });
  };
  const std::vector<int> lost = runner_->run(runner_items_, on_logits, on_token);
  ++totals_.steps;
  if (!lost.empty()) handle_lost(lost);
  return lost.empty();
}

// Hands a sequence a result of the step.
void EngineLoop::take(const StepItem& item, const std::function<void(Sequence&)>& result) {
  Sequence& sequence = running(item.id);
  const int before = sequence.num_generated();
  try {
    result(sequence);
  } catch (const Error& error) {
    sequence.finish(FinishReason::kError, error.what());  // the others go on
    return;
  }
  totals_.generated_tokens += static_cast<std::uint64_t>(sequence.num_generated() - before);
  if (on_token) on_token(sequence);
}

void EngineLoop::advance(const StepPlan& plan) {
  for (const StepItem& item : plan.items) {
    Sequence& sequence = running(item.id);
    sequence.num_computed = item.begin + item.num_rows;
    if (sequence.failed()) continue;  // its pages may be damaged: not published
    kv_.publish(sequence.table, sequence.tokens(), static_cast<std::size_t>(sequence.num_computed));
    // A request that only scores its prompt ends here; sampling ends the others.
    if (sequence.num_computed == sequence.num_tokens()) sequence.finish(FinishReason::kLength);
    if (sequence.has_event() && !sequence.finished()) deliver(sequence);
  }
  remove_finished();
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

void EngineLoop::deliver(Sequence& sequence) {
  if (sequence.finished() && on_end) on_end(sequence);
  deliveries_.push_back({sequence.sink(), sequence.take_event()});
}

EngineStatus EngineLoop::status() const {
  EngineStatus status = totals_;
  status.running = static_cast<int>(running_.size());
  status.waiting = static_cast<int>(waiting_.size());
  status.broken = !broken_.empty();
  status.compute_id = options_.compute_id;
  status.compute = runner_->stats();
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const UnitPages pages = kv_.unit_pages(static_cast<int>(i));
    UnitStatus unit;
    unit.id = units_[i].id;
    unit.alive = pages.alive;
    unit.pages_total = pages.total;
    unit.pages_used = pages.used;
    unit.pages_cached = pages.idle;
    unit.stats = units_[i].unit->stats();
    status.units.push_back(std::move(unit));
  }
  return status;
}

}  // namespace tandem::engine
