// SPDX-License-Identifier: Apache-2.0
//
// The questions to the planner: how many sequences run, where their pages are placed, how long
// chunks are.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "simulation/serving/server.h"

namespace tandem::simulation {
namespace {

// Shares are computed again when the load has changed by this fraction.
constexpr double kNoticedChange = 0.1;
constexpr double kLeastShare = 1e-9;
constexpr int kLeastChunk = 16;

}  // namespace

// The pages that the scheduler may use: those of units with a share. A unit without a share would
// slow down every step, so sequences that grow beyond its mean wait, or are preempted, as they are
// without that unit.
Server::OpenPages Server::open_pages() const {
  OpenPages open;
  for (std::size_t u = 0; u < model_.machine.units.size(); ++u) {
    if (!is_open_[u]) continue;
    const engine::UnitPages pages = kv_.unit_pages(static_cast<int>(u));
    open.available += static_cast<int>(pages.total - pages.used);
    open.total += static_cast<int>(pages.total);
  }
  return open;
}

// Means over the sequences that run and that could join. The predicted output is all tokens so far
// divided by the requests that have ended, because the requests that end first are the short ones.
// It is at most what the requests ask for.
planner::Outlook Server::outlook() const {
  planner::Outlook outlook;
  const auto most = static_cast<std::size_t>(most_running());
  const std::size_t joining = std::min(most - std::min(most, running_.size()), waiting_.size());
  double prompts = 0, outputs = 0;
  const auto add = [&](engine::SequenceId id) {
    prompts += slots_[id]->request.prompt;
    outputs += slots_[id]->request.output;
  };
  std::ranges::for_each(running_, add);
  std::for_each(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(joining), add);
  outlook.most_rows = static_cast<double>(running_.size() + joining);
  outlook.prompt = prompts / outlook.most_rows;
  outlook.output = outputs / outlook.most_rows;
  if (ended_ > 0) {
    outlook.output = std::min(outlook.output, static_cast<double>(num_sampled_) / ended_);
  }
  outlook.step_rows = options_.max_step_tokens;
  if (options_.whole_prompt_rows > 0) {
    const double joining_rows = std::max<double>(options_.whole_prompt_rows, outlook.prompt);
    outlook.step_rows = std::min(outlook.step_rows, outlook.most_rows + joining_rows);
  }
  outlook.prompts_elsewhere = options_.prompts_elsewhere;
  for (const std::uint32_t pages : model_.pages) {
    outlook.room.push_back(static_cast<double>(pages) * options_.page_tokens);
  }
  return outlook;
}

// Called before an admission if the outlook has changed: chooses how many sequences run and where
// their pages are placed.
void Server::deal_shares() {
  if (model_.machine.units.size() < 2 || waiting_.empty()) return;
  const planner::Outlook now = outlook();
  const auto is_near = [](double value, double before) {
    return std::abs(value - before) <= kNoticedChange * before;
  };
  if (is_near(now.most_rows, dealt_.most_rows) && is_near(now.prompt, dealt_.prompt) &&
      is_near(now.output, dealt_.output)) {
    return;
  }
  dealt_ = now;
  const bool is_auto = options_.attention == AttentionPolicy::kAuto;
  planner::BatchChoice choice;
  if (is_auto) choice = planner::choose_batch(model_.machine, now);
  if (choice.rows == 0) {
    choice = planner::batch_of(model_.machine, now, now.most_rows);
  }
  const std::vector<double>& shares = choice.mode.shares;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (std::size_t u = 0; u < shares.size(); ++u) {
    kv_.set_share(static_cast<int>(u), std::max(kLeastShare, shares[u] / sum));
  }
  const bool shares_units = open_units(shares, now.prompt + now.output / 2);
  // A number that equals all waiting sequences is not a limit; neither is one that memory alone
  // determines.
  const bool is_limit = is_auto && shares_units && choice.rows < now.most_rows;
  scheduler_.max_running = is_limit ? static_cast<int>(choice.rows) : most_running();
}

// Opens the units that get half a sequence or more (or a page, if pages are dealt); or all, if
// those cannot hold the longest request. Returns whether any unit besides the own memory is open.
bool Server::open_units(const std::vector<double>& shares, double mean_tokens) {
  int longest = 0;
  const auto look = [&](engine::SequenceId id) {
    const SimulatedRequest& request = slots_[id]->request;
    longest = std::max(longest, request.prompt + request.output);
  };
  std::ranges::for_each(running_, look);
  std::ranges::for_each(waiting_, look);
  const bool is_whole = options_.placement == engine::Placement::kSequences;
  const double least = is_whole ? mean_tokens / 2 : options_.page_tokens;
  for (std::size_t u = 0; u < shares.size(); ++u) is_open_[u] = shares[u] >= least;
  pages_of_shares_ = open_pages().total;
  if (needs_all_units({0, longest, 0})) is_open_.assign(is_open_.size(), true);
  for (std::size_t u = 0; u < shares.size(); ++u) {
    if (is_open_[u] && static_cast<int>(u) != model_.own_unit) return true;
  }
  return false;
}

bool Server::needs_all_units(const SimulatedRequest& request) const {
  const auto tokens =
      static_cast<std::size_t>(request.prompt) + static_cast<std::size_t>(request.output);
  return kv_.blocks_for(tokens) > static_cast<std::size_t>(pages_of_shares_);
}

// The number of tokens that the sequence will probably have at its end, by the outputs at the last
// deal.
std::size_t Server::num_expected(const Sequence& sequence) const {
  const SimulatedRequest& request = sequence.request;
  const double likely =
      std::min<double>(request.prompt + dealt_.output, request.prompt + request.output);
  return static_cast<std::size_t>(std::max<double>(likely, sequence.num_tokens));
}

void Server::expect_growth() {
  if (model_.machine.units.size() < 2 || !kv_.places_by_sequence()) return;
  growth_.assign(model_.machine.units.size(), 0);
  for (const engine::SequenceId id : running_) {
    const Sequence& s = sequence(id);
    const std::optional<int> home = kv_.home(s.table);
    if (!home) continue;
    const std::size_t in_the_end = kv_.blocks_for(num_expected(s));
    growth_[static_cast<std::size_t>(*home)] +=
        in_the_end - std::min(in_the_end, s.table.blocks.size());
  }
  kv_.expect_growth(growth_);
}

// [units] The tokens of the oldest prompt that are already there; its next chunk attends to them.
std::vector<double> Server::past_of_oldest_prompt() const {
  std::vector<double> past(model_.machine.units.size());
  for (const engine::SequenceId id : running_) {
    const Sequence& s = *slots_[id];
    if (s.num_tokens - s.num_computed <= 1) continue;
    for (std::size_t u = 0; u < s.table.held.size(); ++u) {
      const double part = static_cast<double>(s.table.held[u]) /
                          static_cast<double>(std::max<std::size_t>(1, s.table.blocks.size()));
      past[u] = part * s.num_computed;
    }
    return past;
  }
  return past;
}

// Chooses the rows of the step: the decode rows, and as many prompt rows as the target allows.
void Server::size_chunks() {
  if (options_.target_between_tokens_s <= 0) return;
  planner::SubBatch& decode = whole_[0];
  decode.clear();
  int num_decoding = 0;
  for (const engine::SequenceId id : running_) {
    const Sequence& s = sequence(id);
    if (s.num_tokens - s.num_computed != 1 || s.table.blocks.empty()) continue;
    add_item({id, s.num_computed, 1, true, 0}, decode);
    ++num_decoding;
  }
  const planner::ChunkLimits limits{
      kLeastChunk, options_.max_step_tokens,
      num_decoding > 0 ? options_.target_between_tokens_s : std::numeric_limits<double>::infinity(),
      past_of_oldest_prompt()};
  const int rows = planner::chunk_rows(model_.machine, decode, limits);
  scheduler_.max_step_tokens = std::min(options_.max_step_tokens, num_decoding + rows);
}

}  // namespace tandem::simulation
