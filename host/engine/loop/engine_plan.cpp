// SPDX-License-Identifier: Apache-2.0
//
// The plan of an iteration: makes the scheduler's view, and executes its decisions.
//
// A sequence is always in exactly one list, the queue or the running ones, even if something throws
// while it moves between them.
#include <algorithm>
#include <utility>

#include "common/error.h"
#include "engine/loop/engine_loop.h"

namespace tandem::engine {
namespace {

// A sequence whose admission fails this often ends with the error.
constexpr int kMostRefusals = 2;

// The minimum rows of a sequence's turn, before it gives its place to a caller that has none.
constexpr int kTurnRows = 32;

// When this many newer sequences of other callers were admitted before a sequence whose caller has
// none running, it is overdue.
constexpr int kMostPasses = 16;

// The maximum by which callers fall behind each other, in steps.
constexpr std::int64_t kMostCreditSteps = 4;

// The rows of a caller in a step that is for another caller's prompt.
constexpr int kRowsBeside = 2;

// The smaller of two limits; 0 means no limit.
int least_limit(int a, int b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

}  // namespace

StepPlan EngineLoop::make_plan() {
  const trace::Span span = traced("plan");
  waiting_.list(running_, kMostCreditSteps * options_.max_step_tokens, caller_views_);
  deal_shares();
  limit_rows();
  view_running();
  view_waiting();
  const QueueView queue{waiting_views_, running_views_, caller_views_,
                        static_cast<int>(kv_.num_available()), static_cast<int>(kv_.num_pages())};
  const planner::StepCost& cost = planner_ ? planner_->split_cost() : *options_.step_cost;
  return plan_step(queue, scheduler_options(), cost);
}

SchedulerOptions EngineLoop::scheduler_options() const {
  SchedulerOptions options;
  options.max_running = options_.max_running;
  options.max_step_tokens = options_.max_step_tokens;
  options.max_prefill_rows = options_.max_prefill_rows;
  options.num_sub_batches = std::max(1, options_.num_sub_batches);
  if (planner_) {
    options.max_running = planner_->max_running();
    options.num_sub_batches = planner_->most_sub_batches();
    options.step_rows = row_limit_.step_rows;
    options.max_prefill_rows = least_limit(options.max_prefill_rows, row_limit_.prefill_rows);
  }
  options.page_tokens = geometry_.page_tokens;
  options.rows_beside = runner_->follows_rows() ? kRowsBeside : 0;
  return options;
}

void EngineLoop::view_running() {
  running_views_.clear();
  prompts_.clear();
  std::size_t missing = 0;
  for (const auto& sequence : running_) {
    const std::size_t blocks = sequence->table.blocks.size();
    const std::size_t wanted = kv_.blocks_for(sequence->tokens().size());
    missing += wanted - std::min(wanted, blocks);
    const int turn = std::max(sequence->num_reached - sequence->num_restored, kTurnRows);
    const bool had_turn = sequence->num_computed >= sequence->num_reached + turn;
    if (had_turn) sequence->num_passed = 0;
    running_views_.push_back({sequence->id(), sequence->num_tokens(), sequence->num_computed,
                              static_cast<int>(blocks), 0, sequence->queue->index, had_turn,
                              sequence->num_passed >= kMostPasses, sequence->last_step,
                              sequence->priority()});
    if (sequence->num_computed + 1 < sequence->num_tokens()) prompts_.push_back(sequence.get());
  }
  // No sequence is preempted, so num_sole is not read.
  const bool alone = (caller_views_.size() < 2 && !any_overtakes()) || waiting_.empty();
  if (missing <= kv_.num_available() && alone) return;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    running_views_[i].num_sole = static_cast<int>(kv_.num_sole(running_[i]->table));
  }
}

// Only as many as one step can admit, because each view costs a lookup in the prefix index.
void EngineLoop::view_waiting() {
  waiting_views_.clear();
  const int most = scheduler_options().max_running;
  const int room = most - static_cast<int>(running_.size());
  const int num_callers = std::max(1, static_cast<int>(caller_views_.size()));
  for (const auto& [name, caller] : waiting_.callers()) {
    const int share = std::max(1, most / num_callers) - caller.num_running;
    view_waiting(caller, num_callers > 1 ? std::max(room, share) : room);
  }
}

// The caller's running sequences that would be preempted for its first request.
int EngineLoop::num_worse_running(const CallerQueue& caller) const {
  if (caller.waiting.empty()) return 0;
  const int priority = caller.waiting.front()->priority();
  return static_cast<int>(std::ranges::count_if(running_, [&](const auto& sequence) {
    return sequence->queue == &caller && sequence->priority() > priority;
  }));
}

bool EngineLoop::any_overtakes() const {
  return std::ranges::any_of(
      waiting_.callers(), [&](const auto& caller) { return num_worse_running(caller.second) > 0; });
}

void EngineLoop::view_waiting(const CallerQueue& caller, int num_most) {
  num_most = std::max(num_most, num_worse_running(caller));
  // Several callers may take pages from each other.
  const std::size_t most_pages = caller_views_.size() > 1 ? kv_.num_pages() : kv_.num_available();
  std::size_t pages = 0;
  for (const auto& sequence : caller.waiting) {
    if (num_most <= 0 || pages > most_pages) return;
    PrefixProbe probe;
    if (sequence->may_use_prefix_cache())
      probe = kv_.probe(sequence->tokens(), sequence->table.salt);
    const int cached =
        num_kept_of(*sequence, static_cast<int>(probe.num_blocks) * geometry_.page_tokens);
    if (may_find_prefix_soon(*sequence, cached)) continue;
    waiting_views_.push_back({sequence->id(), sequence->num_tokens(), cached,
                              static_cast<int>(probe.num_in_use), caller.index,
                              sequence->num_passed >= kMostPasses, sequence->priority()});
    prompts_.push_back(sequence.get());
    pages += kv_.blocks_for(sequence->tokens().size()) - probe.num_in_use;
    --num_most;
  }
}

// Whether an older sequence computes the next block of the same prompt. This one then waits, so the
// n choices of one prompt compute it once.
bool EngineLoop::may_find_prefix_soon(const Sequence& sequence, int num_cached) const {
  const auto end = static_cast<std::size_t>(num_cached + geometry_.page_tokens);
  const std::span<const TokenId> tokens = sequence.tokens();
  if (!options_.prefix_cache || !sequence.may_use_prefix_cache() || tokens.size() <= end) {
    return false;
  }
  return std::ranges::any_of(prompts_, [&](const Sequence* other) {
    return other->queue == sequence.queue && other->num_computed < static_cast<int>(end) &&
           other->tokens().size() >= end &&
           std::ranges::equal(other->tokens().first(end), tokens.first(end));
  });
}

// Releases the pages of a running sequence and puts it at the head of its caller's queue.
void EngineLoop::requeue(std::size_t index) {
  Sequence& sequence = *running_[index];
  waiting_.push_front(running_[index]);  // first the call that may throw
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
  sequence.num_reached = std::max(sequence.num_reached, sequence.num_computed);
  sequence.num_restored = 0;
  kv_.release(sequence.table);
  sequence.num_computed = 0;
  if (speculation_) speculation_->pause(sequence.id());
}

void EngineLoop::requeue_running(SequenceId id) {
  const auto it = std::ranges::find_if(running_, [&](const auto& s) { return s->id() == id; });
  TANDEM_CHECK(it != running_.end());
  requeue(static_cast<std::size_t>(it - running_.begin()));
}

void EngineLoop::apply(StepPlan& plan) {
  for (const SequenceId id : plan.preempted) {
    park(running(id));
    requeue_running(id);
    ++totals_.preemptions;
  }
  // All attach before any takes a page, because taking one could evict a prefix that the plan
  // counts on.
  running_.reserve(running_.size() + plan.admitted.size());
  for (std::size_t i = 0; i < plan.admitted.size(); ++i) {
    const SequenceId id = plan.admitted[i];
    count_passes(id);
    if (admit(id)) continue;
    std::erase_if(plan.items, [&](const StepItem& item) { return item.id == id; });
  }
  if (!plan.admitted.empty()) expect_growth();
  restore(plan);
  for (const StepItem& item : plan.items) {
    Sequence& sequence = running(item.id);
    TANDEM_CHECK(kv_.extend(sequence.table, sequence.tokens().size(), num_expected(sequence)));
  }
  for (StepItem& item : plan.items) reserve_drafts(item);
  choose_mode(plan);
}

// The number of tokens that the sequence will probably have at its end.
std::size_t EngineLoop::num_expected(const Sequence& sequence) const {
  const double likely =
      std::min<double>(sequence.num_prompt_tokens() + likely_output_, sequence.most_tokens());
  return static_cast<std::size_t>(std::max<double>(likely, sequence.num_tokens()));
}

// Homes of new sequences depend on what all sequences will hold at their end.
void EngineLoop::expect_growth() {
  if (!kv_.places_by_sequence()) return;
  likely_output_ = expected_output();
  std::vector<std::size_t> blocks(units_.size());
  for (const auto& sequence : running_) {
    const std::optional<int> home = kv_.home(sequence->table);
    if (!home) continue;
    const std::size_t in_the_end = kv_.blocks_for(num_expected(*sequence));
    blocks[static_cast<std::size_t>(*home)] +=
        in_the_end - std::min(in_the_end, sequence->table.blocks.size());
  }
  kv_.expect_growth(blocks);
}

// Counts for the oldest sequences of callers that have nothing running.
void EngineLoop::count_passes(SequenceId admitted) {
  for (const auto& [name, caller] : waiting_.callers()) {
    if (caller.waiting.empty() || caller.waiting.front()->id() > admitted) continue;
    const bool has_running = std::ranges::any_of(
        running_, [queue = &caller](const auto& s) { return s->queue == queue; });
    if (!has_running) ++caller.waiting.front()->num_passed;
  }
}

// Guesses do not count, because the engine chooses them, not the caller.
void EngineLoop::count_rows(std::span<const StepItem> items) {
  for (const StepItem& item : items) {
    Sequence& sequence = running(item.id);
    sequence.last_step = totals_.steps;
    sequence.queue->view.served_rows += item.num_rows - item.num_drafts;
  }
}

// False if it fails: the sequence then stays in the queue, without pages. The second failure ends
// it.
bool EngineLoop::admit(SequenceId id) {
  Sequence& sequence = *waiting_.find(id);
  try {
    if (sequence.may_use_prefix_cache()) {
      sequence.num_computed = static_cast<int>(kv_.attach(sequence.table, sequence.tokens()));
    }
    if (sequence.on_scheduled(sequence.num_computed)) {
      totals_.prompt_tokens += static_cast<std::uint64_t>(sequence.num_prompt_tokens());
      totals_.cached_tokens += static_cast<std::uint64_t>(sequence.num_computed);
    }
    running_.push_back(waiting_.take(id));  // reserved: does not throw
    return true;
  } catch (const std::exception& error) {
    kv_.release(sequence.table);
    sequence.num_computed = 0;
    warn(std::string("a request could not start: ") + error.what());
    if (++sequence.num_refusals >= kMostRefusals) {
      sequence.finish(FinishReason::kError, error.what());
      end_waiting();
    }
    return false;
  }
}

}  // namespace tandem::engine
