// SPDX-License-Identifier: Apache-2.0
//
// The decisions before a step. plan_feedback.cpp learns after it.
#include "engine/planning/step_planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/planning/step_work.h"
#include "planner/mode/chunk_rows.h"

namespace tandem::engine {
namespace {

// Shares are computed again when the load has changed by this fraction.
constexpr double kNoticedChange = 0.1;
constexpr double kClearGain = 1.05;
// Another way must be this much faster than the last one.
constexpr double kOtherWay = 1.02;
// After a deal, this multiple of its duration passes: dealing takes 2 % of the time, or more only
// if one deal takes over 10 ms.
constexpr int kRestOfDeal = 50;
constexpr std::chrono::milliseconds kLongestRest{500};
// The rows that a prompt always gets, even if the target is missed.
constexpr int kLeastRows = 4;
constexpr double kManyTokens = 1e6, kManyRows = 8192;

// Chooses all sequences that could run, unless fewer are clearly faster, because those that wait
// for a slot also wait for their first token.
planner::BatchChoice worthwhile_batch(const planner::MachineModel& machine,
                                      const planner::Outlook& outlook) {
  planner::BatchChoice fewer = planner::choose_batch(machine, outlook);
  planner::BatchChoice all = planner::batch_of(machine, outlook, outlook.most_rows);
  const bool fits = all.mode.missing_tokens <= 0;
  const bool gains = fewer.tokens_per_s > kClearGain * all.tokens_per_s;
  return fewer.rows > 0 && (gains || !fits) ? fewer : all;
}

// The rates by which the scheduler balances sub-batches.
planner::ConstantStepCost::Rates split_rates(const planner::MachineModel& machine) {
  double per_token = 0;
  for (const planner::UnitModel& unit : machine.units) {
    const double many = unit.attention.seconds({1, kManyTokens, kManyTokens});
    per_token = std::max(per_token, machine.num_layers * many / kManyTokens);
  }
  const double per_row =
      (machine.compute.dense_s(kManyRows) - machine.compute.dense_s(1)) / kManyRows;
  return {0, per_row, per_token};
}

}  // namespace

StepPlanner::StepPlanner(planner::MachineModel machine, PlanOptions options)
    : machine_(std::move(machine)),
      options_(std::move(options)),
      ids_(options_.unit_ids),
      split_cost_(split_rates(machine_)),
      max_running_(options_.max_running),
      whole_(1),
      halves_(2),
      merge_base_s_(machine_.compute.merge_row_s),
      sampling_base_s_(machine_.compute.sampling_s),
      sampling_row_base_s_(machine_.compute.sampling_row_s),
      causal_base_s_(machine_.causal_pair_s) {
  for (const planner::UnitModel& unit : machine_.units) units_.push_back({unit, {}, 1, {}});
  begin();
  status_.target_itl_s = options_.target_itl_s;
}

void StepPlanner::set_unit(std::size_t index, const std::string& id,
                           const planner::UnitModel& unit) {
  const std::size_t count = std::max(index + 1, units_.size());
  units_.resize(count);
  ids_.resize(count);
  machine_.units.resize(count);
  units_[index] = {unit, {}, 1, {}};
  ids_[index] = id;
  machine_.units[index] = unit;
  costs_changed_ = true;
  begin();
}

bool StepPlanner::is_near_dealt(const planner::Outlook& outlook) const {
  const auto is_near = [](double value, double before) {
    return std::abs(value - before) <= kNoticedChange * before;
  };
  return is_near(outlook.most_rows, dealt_.most_rows) && is_near(outlook.prompt, dealt_.prompt) &&
         is_near(outlook.output, dealt_.output);
}

// Whether the lost units are the same as at the last deal.
bool StepPlanner::has_dealt_units(const planner::Outlook& outlook) const {
  const auto is_lost = [](double room) { return room <= 0; };
  return std::ranges::equal(outlook.room, dealt_.room, {}, is_lost, is_lost);
}

bool StepPlanner::deal(const planner::Outlook& outlook, Clock::TimePoint now) {
  if (!options_.deals_shares || machine_.units.size() < 2) return false;
  forget_idle(now);
  if (has_dealt_units(outlook)) {
    if (now < rests_until_ || (!costs_changed_ && is_near_dealt(outlook))) return false;
  }
  rests_until_ = now;
  dealt_ = outlook;
  costs_changed_ = false;
  for (Unit& unit : units_) unit.dealt_factor = unit.correction.factor();
  const planner::BatchChoice choice = worthwhile_batch(machine_, outlook);
  const double sum = std::accumulate(choice.mode.shares.begin(), choice.mode.shares.end(), 0.0);
  if (!(sum > 0)) return false;
  // If all sequences may run, there is no limit.
  const bool is_limit = choice.rows < outlook.most_rows;
  max_running_ = is_limit ? static_cast<int>(choice.rows) : options_.max_running;
  shares_ = choice.mode.shares;
  for (double& share : shares_) share /= sum;
  status_.shares = shares_;
  return true;
}

void StepPlanner::deal_took(Clock::Duration time) {
  rests_until_ += std::min<Clock::Duration>(kRestOfDeal * time, kLongestRest);
}

bool StepPlanner::moves_pay(std::span<const double> tokens, double rows, double rest_steps,
                            int page_tokens) const {
  if (shares_.size() != machine_.units.size() || tokens.size() != shares_.size()) return false;
  planner::AttentionLoad load;
  load.rows = rows;
  load.tokens = std::accumulate(tokens.begin(), tokens.end(), 0.0);
  if (!(load.tokens > 0) || !(rows > 0)) return false;
  std::vector<double> wanted;
  double moves_s = 0;
  for (std::size_t u = 0; u < shares_.size(); ++u) {
    wanted.push_back(load.tokens * shares_[u]);
    // Each page is copied out of this unit and into another one.
    moves_s +=
        2 * std::max(0.0, tokens[u] - wanted[u]) / page_tokens * machine_.units[u].page_move_s;
  }
  const int num_sub_batches = rows < 2 ? 1 : std::max(1, status_.num_sub_batches);
  const double now = planner::time_of_shares(machine_, load, tokens, num_sub_batches).total;
  const double then = planner::time_of_shares(machine_, load, wanted, num_sub_batches).total;
  return (now - then) * rest_steps > moves_s;
}

bool StepPlanner::parking_pays(std::span<const std::uint32_t> pages, double tokens) const {
  double copies_s = 0;
  for (std::size_t u = 0; u < pages.size() && u < machine_.units.size(); ++u) {
    copies_s += 2 * pages[u] * machine_.units[u].page_move_s;
  }
  const double rows = std::min<double>(tokens, options_.max_step_tokens);
  return copies_s < machine_.compute.dense_s(rows) * tokens / rows;
}

RowLimit StepPlanner::limit_rows(int num_decoding, std::vector<double> past) {
  status_.target_missed = false;
  if (options_.target_itl_s <= 0 || num_decoding == 0) return {options_.max_step_tokens, 0};
  const planner::SubBatch& decode = halves_[0];
  const int most = std::max(1, options_.max_step_tokens - num_decoding);
  past.resize(past.empty() ? 0 : machine_.units.size());
  const planner::ChunkLimits limits{std::min(kLeastRows, most), most, options_.target_itl_s,
                                    std::move(past)};
  const int rows = planner::chunk_rows(machine_, decode, limits);
  planner::step_time(machine_, {&decode, 1}, predicted_);
  status_.target_missed = predicted_.total > options_.target_itl_s;
  return {std::min(options_.max_step_tokens, num_decoding + rows), rows};
}

int StepPlanner::most_sub_batches() const {
  if (options_.num_sub_batches > 0) return options_.num_sub_batches;
  const bool has_others =
      std::ranges::any_of(machine_.units, [](const auto& unit) { return !unit.is_own; });
  return has_others ? 2 : 1;
}

void StepPlanner::begin() {
  for (auto* batches : {&whole_, &halves_}) {
    for (planner::SubBatch& batch : *batches) {
      batch.units.resize(machine_.units.size());
      batch.clear();
    }
  }
}

void StepPlanner::add(const StepItem& item, const PageTable& table) {
  add_step_work(machine_, item, table, halves_[item.sub_batch == 0 ? 0 : 1]);
}

void StepPlanner::sum_up_halves() {
  planner::SubBatch& whole = whole_[0];
  whole.clear();
  for (const planner::SubBatch& half : halves_) {
    whole.rows += half.rows;
    whole.sampled += half.sampled;
    whole.causal_pairs += half.causal_pairs;
    for (std::size_t u = 0; u < half.units.size(); ++u) whole.units[u] += half.units[u];
  }
}

// Whether a unit elsewhere has work in the step.
bool StepPlanner::uses_others() const {
  for (std::size_t u = 0; u < machine_.units.size(); ++u) {
    if (!machine_.units[u].is_own && whole_[0].units[u].rows > 0) return true;
  }
  return false;
}

void StepPlanner::set_ways(const StepWays& ways) {
  if (ways == known_ways_) return;
  const std::vector<Way> before = std::exchange(ways_, {});
  const Way& last = before[way_];
  way_ = 0;  // the usual one, until another has been taken
  for (const StepWay& way : ways.all) {
    const auto known = std::ranges::find(before, way, &Way::way);
    if (way == last.way && last.worked_at != Clock::TimePoint()) way_ = ways_.size();
    ways_.push_back(known == before.end() ? Way{way, {}, {}} : *known);
  }
  known_ways_ = ways;
  const bool has_early = std::ranges::any_of(ways.all, &StepWay::early_queries);
  machine_.early_share = has_early ? ways.early_share : 0;
}

// Keeps the prediction of this way if it is the shortest so far.
void StepPlanner::consider(std::size_t way, bool halves, double& least_s) {
  const Way& candidate = ways_[way];
  planner::step_time(machine_, halves ? halves_ : whole_, candidate.way.early_queries, candidate_);
  const double seconds =
      candidate_.total * candidate.correction.factor() * (way == way_ ? 1 : kOtherWay);
  if (seconds >= least_s) return;
  least_s = seconds;
  chosen_way_ = way;
  runs_halves_ = halves;
  std::swap(predicted_, candidate_);
}

int StepPlanner::choose(int num_sub_batches) {
  sum_up_halves();
  // If no other unit has work, sub-batches hide nothing and there is no way to choose.
  const bool others = uses_others();
  const bool is_fixed = options_.num_sub_batches == 2 && num_sub_batches == 2;
  const bool may_halve = num_sub_batches == 2 && (is_fixed || others);
  chosen_way_ = way_;
  double least_s = std::numeric_limits<double>::infinity();
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (!others && way != way_) continue;
    if (!is_fixed) consider(way, false, least_s);
    if (may_halve) consider(way, true, least_s);
  }
  way_ = chosen_way_;
  return runs_halves_ ? 2 : 1;
}

}  // namespace tandem::engine
