// SPDX-License-Identifier: Apache-2.0
//
// A pass per sequence: the tokens that are missing in its cache, then one guess after the other.
#include "engine/speculation/draft_model.h"

#include <algorithm>
#include <utility>

#include "common/error.h"

namespace tandem::engine {

DraftModel::DraftModel(DraftModelParts parts)
    : runner_(parts.make_runner()),
      unit_(std::move(parts.unit)),
      max_rows_(parts.max_rows),
      vocab_size_(parts.vocab_size),
      on_failure_(std::move(parts.on_failure)),
      kv_(unit_->geometry().page_tokens, Placement::kSequences, false) {
  runner_->add_unit(*unit_, "draft");
  kv_.add_unit(unit_->capacity().num_pages, 0);
}

void DraftModel::draft(std::span<DraftWish> wishes) {
  if (failed_) return;
  std::vector<Pass> passes;
  for (DraftWish& wish : wishes) {
    Pass pass;
    if (begin(wish, pass)) passes.push_back(std::move(pass));
  }
  const auto ended = [](const Pass& pass) { return pass.pending.empty(); };
  try {
    catch_up(passes);
    while (std::erase_if(passes, ended), !passes.empty()) step(passes);
  } catch (const std::exception& error) {
    fail(error.what());
  }
  if (!failed_) return;
  for (DraftWish& wish : wishes) wish.drafts.clear();
}

// False if the sequence can have no guess.
bool DraftModel::begin(DraftWish& wish, Pass& pass) {
  const auto is_unknown = [this](TokenId token) { return token >= vocab_size_; };
  Cached& cached = sequences_[wish.id];
  const auto same = std::ranges::mismatch(cached.tokens, wish.tokens).in1 - cached.tokens.begin();
  const std::size_t kept = std::min(static_cast<std::size_t>(same), wish.tokens.size() - 1);
  cached.tokens.resize(kept);
  const std::span<const TokenId> missing = wish.tokens.subspan(kept);
  if (std::ranges::any_of(missing, is_unknown) ||
      !kv_.extend(cached.table, wish.tokens.size() + static_cast<std::size_t>(wish.most))) {
    forget(wish.id);
    return false;
  }
  pass = {&wish, &cached, {missing.begin(), missing.end()}};
  return true;
}

// Sequences that have nearly caught up come first, so that they guess in this call.
void DraftModel::catch_up(std::vector<Pass>& passes) {
  if (passes.empty()) return;
  std::ranges::stable_sort(passes, {}, [](const Pass& pass) { return pass.pending.size(); });
  for (Pass& pass : passes) {
    pass.wish->num_caught_up = static_cast<int>(pass.pending.size());
  }
  step(passes);
  std::erase_if(passes, [](const Pass& pass) { return pass.wish->drafts.empty(); });
}

void DraftModel::step(std::vector<Pass>& passes) {
  std::vector<RunnerItem> items;
  int room = max_rows_;
  for (const Pass& pass : passes) {
    const int rows = std::min(room, static_cast<int>(pass.pending.size()));
    if (rows == 0) break;
    room -= rows;
    RunnerItem& item = items.emplace_back();
    item.tokens = std::span(pass.pending).first(static_cast<std::size_t>(rows));
    item.blocks = pass.cached->table.blocks;
    item.past = static_cast<int>(pass.cached->tokens.size());
    if (item.tokens.size() < pass.pending.size()) continue;
    item.logits = LogitRows::kLast;
    if (runner_->samples()) item.sample = device::SampleRow{};
  }
  std::vector<TokenId> next(items.size(), model::kNoToken);
  const auto on_logits = [&](std::size_t i, int, std::span<const float> logits) {
    next[i] = static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
  };
  const auto on_token = [&](std::size_t i, TokenId token) { next[i] = token; };
  if (!runner_->run(items, on_logits, on_token).empty()) {
    throw Error("draft", "its attention unit is lost");
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto rows = static_cast<std::ptrdiff_t>(items[i].tokens.size());
    std::vector<TokenId>& pending = passes[i].pending;
    std::vector<TokenId>& written = passes[i].cached->tokens;
    written.insert(written.end(), pending.begin(), pending.begin() + rows);
    pending.erase(pending.begin(), pending.begin() + rows);
    if (items[i].logits == LogitRows::kLast) take(passes[i], next[i]);
  }
}

// An invalid token, as after logits that are not finite, ends the guesses.
void DraftModel::take(Pass& pass, TokenId token) {
  if (token < 0) return;
  std::vector<TokenId>& drafts = pass.wish->drafts;
  drafts.push_back(token);
  if (static_cast<int>(drafts.size()) < pass.wish->most) pass.pending.assign(1, token);
}

void DraftModel::forget(std::uint64_t id) {
  const auto it = sequences_.find(id);
  if (it == sequences_.end()) return;
  kv_.release(it->second.table);
  sequences_.erase(it);
}

void DraftModel::fail(const std::string& reason) {
  failed_ = true;
  if (on_failure_) on_failure_(reason);
}

}  // namespace tandem::engine
