// SPDX-License-Identifier: Apache-2.0
//
// One iteration: views, plan, pages, predicted time, tokens. The order is that of
// engine/loop/engine_plan.cpp.
#include "simulation/serving/server.h"

#include <algorithm>
#include <limits>

#include "common/error.h"

namespace tandem::simulation {
namespace {

// The rates by which the scheduler balances sub-batches.
planner::ConstantStepCost::Rates split_rates(const planner::MachineModel& machine) {
  double per_token = 0;
  for (const planner::UnitModel& unit : machine.units) {
    const double one = unit.attention.seconds({1, 1e6, 1e6}) / 1e6;
    per_token = std::max(per_token, one * machine.num_layers);
  }
  const double per_row = (machine.compute.dense_s(8192) - machine.compute.dense_s(1)) / 8192;
  return {0, per_row, per_token};
}

const planner::Outlook kNotDealt{0, 0, 0};

int blocks_of(int tokens, int page_tokens) { return (tokens + page_tokens - 1) / page_tokens; }

}  // namespace

Server::Server(const ServerModel& model, const ServingOptions& options, ServingRecord& record)
    : model_(model),
      options_(options),
      record_(record),
      split_cost_(split_rates(model.machine)),
      kv_(options.page_tokens, options.placement, false),
      is_open_(model.machine.units.size(), true),
      unit_use_(model.machine.units.size()) {
  scheduler_.max_running = most_running();
  scheduler_.max_step_tokens = options.max_step_tokens;
  scheduler_.page_tokens = options.page_tokens;
  const bool has_others = model.machine.units.size() > (model.own_unit >= 0 ? 1u : 0u);
  const int most = options.num_sub_batches == 0 ? 2 : options.num_sub_batches;
  scheduler_.num_sub_batches = has_others ? most : 1;
  for (std::size_t u = 0; u < model.machine.units.size(); ++u) {
    kv_.add_unit(model.pages[u], 1, 1);
  }
  kv_.set_near(model.own_unit);
  whole_.resize(1), halves_.resize(2);
  for (auto* batches : {&whole_, &halves_}) {
    for (planner::SubBatch& batch : *batches) batch.units.resize(model.machine.units.size());
  }
  if (options.reserved_tokens > 0 && most_running() == 0) {
    const std::int64_t most = std::ranges::max(model_.pages);
    throw Error("simulate", "a contiguous cache of " + std::to_string(options_.reserved_tokens) +
                                " tokens fits no memory: the largest holds " +
                                std::to_string(most * options_.page_tokens));
  }
}

int Server::most_running() const {
  if (options_.reserved_tokens <= 0) return options_.max_running;
  std::int64_t places = 0;
  for (const std::uint32_t pages : model_.pages) {
    places += std::int64_t{pages} * options_.page_tokens / options_.reserved_tokens;
  }
  return static_cast<int>(std::min<std::int64_t>(places, options_.max_running));
}

void Server::submit(const SimulatedRequest& request) {
  const std::int64_t tokens = std::int64_t{request.prompt} + request.output;
  const std::int64_t room = std::int64_t{kv_.num_pages()} * options_.page_tokens;
  if (tokens > room) {
    throw Error("simulate", "a request has " + std::to_string(tokens) +
                                " tokens, but the KV memory of " + model_.names.front() +
                                (model_.names.size() > 1 ? " and its units" : "") + " holds " +
                                std::to_string(room) + ": room for " +
                                std::to_string(tokens - room) + " tokens is missing");
  }
  if (tokens > options_.model.context_length) {
    throw Error("simulate", "a request has " + std::to_string(tokens) + " tokens, but " +
                                options_.model.name + " has a context of " +
                                std::to_string(options_.model.context_length));
  }
  engine::SequenceId id = slots_.size();
  if (free_.empty()) {
    slots_.push_back(std::make_unique<Sequence>());
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Sequence& added = sequence(id);
  added.request = request;
  added.num_tokens = request.prompt;
  added.num_computed = 0;
  added.last_token_s = -1;
  waiting_.push_back(id);
}

int Server::num_known(const Sequence& sequence) const {
  return options_.prompts_elsewhere ? sequence.num_tokens - 1 : 0;
}

void Server::make_views() {
  running_views_.clear();
  for (const engine::SequenceId id : running_) {
    const Sequence& s = sequence(id);
    const int blocks = static_cast<int>(s.table.blocks.size());
    running_views_.push_back(
        {id, s.num_tokens, s.num_computed, blocks, blocks, 0, false, false, s.last_step});
  }
  waiting_views_.clear();
  // At most as many as one step can admit.
  int room = scheduler_.max_running - static_cast<int>(running_.size());
  const std::int64_t available = open_pages().available;
  std::int64_t pages = 0;
  int prompt_rows = 0;
  for (const engine::SequenceId id : waiting_) {
    const Sequence& s = sequence(id);
    if (room-- <= 0 || pages > available || !may_join(s, prompt_rows)) return;
    waiting_views_.push_back({id, s.num_tokens, num_known(s), 0, 0, false});
    pages += blocks_of(s.num_tokens, options_.page_tokens);
    prompt_rows += s.num_tokens - num_known(s);
  }
}

// Whether the next waiting request joins a step that already has this many prompt rows. A prompt
// that alone exceeds a step is divided anyway.
bool Server::may_join(const Sequence& next, int prompt_rows) const {
  if (options_.whole_prompt_rows <= 0) return true;
  const std::size_t others = running_.size() + static_cast<std::size_t>(prompt_rows);
  if (others == 0) return true;
  const auto rows = static_cast<std::size_t>(next.num_tokens - num_known(next));
  return prompt_rows < options_.whole_prompt_rows &&
         others + rows <= static_cast<std::size_t>(options_.max_step_tokens);
}

engine::StepPlan Server::next_plan() {
  deal_shares();
  size_chunks();
  make_views();
  const OpenPages open = open_pages();
  const engine::QueueView queue{waiting_views_, running_views_, {}, open.available, open.total};
  return engine::plan_step(queue, scheduler_, split_cost_);
}

void Server::refuse_first() const {
  const Sequence& first = *slots_[waiting_.front()];
  const OpenPages open = open_pages();
  const int wanted = blocks_of(first.num_tokens, options_.page_tokens);
  throw Error("simulate", "a request of " + std::to_string(first.request.prompt) + " + " +
                              std::to_string(first.request.output) +
                              " tokens waits although no other runs: it needs " +
                              std::to_string(wanted) + " pages of " +
                              std::to_string(open.available) + ", and a place among " +
                              std::to_string(scheduler_.max_running) + " in steps of " +
                              std::to_string(scheduler_.max_step_tokens) + " rows");
}

int Server::step(double until) {
  engine::StepPlan plan = next_plan();
  if (plan.items.empty() && running_.empty()) {
    // The missing pages may be on units that are closed.
    dealt_ = kNotDealt;
    plan = next_plan();
    if (plan.items.empty()) refuse_first();
  }
  apply(plan);
  let_time_pass(plan);
  ++num_steps_;
  ++record_.steps;
  record_.batches += plan.items.size();
  record_.busiest_batch = std::max(record_.busiest_batch, static_cast<double>(plan.items.size()));
  for (const engine::StepItem& item : plan.items) {
    Sequence& s = sequence(item.id);
    s.num_computed = item.begin + item.num_rows;
    s.last_step = num_steps_;
    if (item.samples) sample(s);
  }
  const int num_ended = end_sequences();
  if (options_.jumps && num_ended == 0) repeat(num_alike(plan), until);
  return num_ended;
}

// The number of following steps with an equal plan: all running sequences decode one token each,
// none ends, is admitted or preempted, and pages suffice. Only if one memory holds all KV, because
// sub-batches are divided again in every step.
int Server::num_alike(const engine::StepPlan& plan) const {
  const bool is_steady = plan.preempted.empty() && plan.admitted.empty() &&
                         plan.items.size() == running_.size() && model_.machine.units.size() == 1;
  if (!is_steady || running_.empty()) return 0;
  int least = std::numeric_limits<int>::max();
  for (const engine::StepItem& item : plan.items) {
    if (item.num_rows != 1 || !item.samples) return 0;
    const Sequence& s = *slots_[item.id];
    least = std::min(least, s.request.prompt + s.request.output - s.num_tokens);
  }
  // One page per sequence more than whole ones, because their last pages may be full.
  const auto pages = static_cast<int>(kv_.num_available() / running_.size()) - 1;
  return std::min(least - 1, pages * options_.page_tokens);
}

void Server::repeat(int num_steps, double until) {
  const auto rows = static_cast<double>(running_.size());
  int done = 0;
  for (; done < num_steps && now_ < until; ++done) {
    planner::AttentionWork& work = whole_[0].units[0];
    work.tokens += rows, work.pairs += rows;
    planner::step_time(model_.machine, whole_, time_);
    const double before = now_;
    now_ += time_.total;
    count_use(time_, whole_);
    record_.between_tokens.add(now_ - before, running_.size());
  }
  if (done == 0) return;
  num_steps_ += static_cast<std::uint64_t>(done);
  record_.steps += static_cast<std::uint64_t>(done);
  record_.batches += static_cast<std::uint64_t>(done) * running_.size();
  record_.generated_tokens += static_cast<std::uint64_t>(done) * running_.size();
  num_sampled_ += static_cast<std::uint64_t>(done) * running_.size();
  for (const engine::SequenceId id : running_) {
    Sequence& s = sequence(id);
    s.num_tokens += done, s.num_computed += done;
    s.last_token_s = now_, s.last_step = num_steps_;
    TANDEM_CHECK(kv_.extend(s.table, static_cast<std::size_t>(s.num_computed)));
  }
}

void Server::apply(const engine::StepPlan& plan) {
  for (const engine::SequenceId id : plan.preempted) {
    std::erase(running_, id);
    kv_.release(sequence(id).table);
    sequence(id).num_computed = 0;
    waiting_.push_front(id);
    ++record_.preemptions;
  }
  for (const engine::SequenceId id : plan.admitted) {
    running_.push_back(id);
    if (waiting_.front() == id) {
      waiting_.pop_front();
    } else {
      std::erase(waiting_, id);
    }
  }
  if (!plan.admitted.empty()) expect_growth();
  for (const engine::StepItem& item : plan.items) {
    Sequence& s = sequence(item.id);
    TANDEM_CHECK(kv_.extend(s.table, static_cast<std::size_t>(s.num_tokens), num_expected(s)));
  }
}

void Server::add_item(const engine::StepItem& item, planner::SubBatch& batch) {
  const Sequence& s = sequence(item.id);
  const double rows = item.num_rows;
  batch.rows += rows;
  batch.sampled += item.samples ? 1 : 0;
  // A decode row's own token is in the pages; a chunk's own tokens are attended by the device.
  const bool is_decode = item.num_rows == 1;
  const int seen = item.begin + (is_decode ? 1 : 0);
  if (!is_decode) batch.causal_pairs += rows * (rows + 1) / 2;
  const auto last =
      static_cast<std::size_t>(blocks_of(item.begin + item.num_rows, options_.page_tokens) - 1);
  const int home = s.table.blocks[std::min(last, s.table.blocks.size() - 1)].unit;
  const double known = s.num_tokens;
  for (std::size_t u = 0; u < s.table.held.size(); ++u) {
    if (s.table.held[u] == 0) continue;
    const double part = s.table.held[u] == s.table.blocks.size()
                            ? seen
                            : seen * std::min(1.0, s.table.held[u] * options_.page_tokens / known);
    // If a unit has no earlier tokens, it still gets the new ones that are placed there.
    if (part < 1 && static_cast<int>(u) != home) continue;
    batch.units[u] += model_.machine.units[u].attention.work_of(rows, part);
  }
}

void Server::list_work(const engine::StepPlan& plan, int num_sub_batches) {
  for (planner::SubBatch& batch : whole_) batch.clear();
  for (planner::SubBatch& batch : halves_) batch.clear();
  for (const engine::StepItem& item : plan.items) {
    add_item(item,
             num_sub_batches == 1 ? whole_[0] : halves_[static_cast<std::size_t>(item.sub_batch)]);
  }
  if (num_sub_batches == 1) return;
  for (const planner::SubBatch& half : halves_) {
    whole_[0].rows += half.rows;
    whole_[0].sampled += half.sampled;
    whole_[0].causal_pairs += half.causal_pairs;
    for (std::size_t u = 0; u < half.units.size(); ++u) whole_[0].units[u] += half.units[u];
  }
}

void Server::let_time_pass(const engine::StepPlan& plan) {
  if (plan.items.empty()) return;
  list_work(plan, plan.num_sub_batches);
  const bool may_be_whole = options_.num_sub_batches != 2 || plan.num_sub_batches < 2;
  if (may_be_whole) planner::step_time(model_.machine, whole_, time_);
  if (plan.num_sub_batches == 2) planner::step_time(model_.machine, halves_, time_of_halves_);
  const bool is_cut =
      plan.num_sub_batches == 2 && (!may_be_whole || time_of_halves_.total < time_.total);
  record_.two_sub_batch_steps += is_cut ? 1 : 0;
  const planner::StepTime& time = is_cut ? time_of_halves_ : time_;
  now_ += time.total;
  count_use(time, is_cut ? halves_ : whole_);
}

void Server::count_use(const planner::StepTime& time, std::span<const planner::SubBatch> batches) {
  const planner::DeviceCost& compute = model_.machine.compute;
  const double rows = batches[0].rows;
  compute_use_.busy += time.compute_busy();
  const bool by_arithmetic = compute.dense_by_rows(rows) > 1.5 * compute.dense_by_rows(1);
  (by_arithmetic ? compute_use_.arithmetic_bound : compute_use_.memory_bound) += time.dense;
  compute_use_.memory_bound += time.own_attention;
  for (std::size_t u = 0; u < unit_use_.size(); ++u) {
    DeviceUse& use = unit_use_[u];
    use.busy += time.units[u];
    use.link += time.links[u];
    const planner::AttentionCost& cost = model_.machine.units[u].attention;
    const planner::AttentionWork& work = batches[0].units[u];
    const bool is_by_pairs = work.pairs * cost.per_pair_s > cost.by_tokens(work.tokens);
    (is_by_pairs ? use.arithmetic_bound : use.memory_bound) += time.units[u];
  }
}

void Server::sample(Sequence& s) {
  if (s.last_token_s < 0) {
    record_.first_token.add(now_ - s.request.arrival_s);
  } else {
    record_.between_tokens.add(now_ - s.last_token_s);
  }
  s.last_token_s = now_;
  ++s.num_tokens;
  ++num_sampled_;
  ++record_.generated_tokens;
}

int Server::end_sequences() {
  const auto ended = [&](engine::SequenceId id) {
    Sequence& s = sequence(id);
    if (!s.has_ended()) return false;
    record_.whole.add(now_ - s.request.arrival_s);
    if (options_.keeps_requests) record_.ended.push_back({s.request, now_});
    ++ended_;
    ++record_.requests;
    record_.prompt_tokens += static_cast<std::uint64_t>(s.request.prompt);
    kv_.release(s.table);
    free_.push_back(id);
    return true;
  };
  return static_cast<int>(std::erase_if(running_, ended));
}

}  // namespace tandem::simulation
