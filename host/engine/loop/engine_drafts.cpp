// SPDX-License-Identifier: Apache-2.0
//
// Guessed tokens in a step: which sequences get guesses, and how many of their rows are accepted.
//
// The rows of an item with guesses are its last known token and the guesses. Row i counts if the
// tokens that were drawn from the rows before it are the guesses. The KV of the other rows is
// overwritten by later steps.
#include <algorithm>

#include "engine/loop/engine_loop.h"

namespace tandem::engine {

// Only in steps of decode rows: next to a prompt, a row costs its full time.
void EngineLoop::add_drafts(StepPlan& plan) {
  only_decodes_ = false;
  if (!speculation_ || plan.items.empty() || !plan.admitted.empty() || plan.holds_back) return;
  const auto decodes = [](const StepItem& item) { return item.num_rows == 1 && item.samples; };
  if (!std::ranges::all_of(plan.items, decodes)) return;
  only_decodes_ = true;
  std::vector<DraftWish> wishes;
  for (const StepItem& item : plan.items) {
    const Sequence& sequence = running(item.id);
    // The last token that is drawn needs no guess.
    const int most = sequence.most_tokens() - sequence.num_tokens() - 1;
    wishes.push_back(
        {item.id, sequence.tokens(), std::clamp(most, 0, speculation_->most_drafts()), {}});
  }
  const int room = row_limit_.step_rows - static_cast<int>(plan.items.size());
  if (room <= 0) return;
  const Clock::TimePoint begin = options_.clock->now();
  speculation_->draft(wishes, room);
  const std::chrono::duration<double> time = options_.clock->now() - begin;
  speculation_->record_drafting(time.count());
  const auto is_none = [&](TokenId token) { return token < 0 || token >= config_.vocab_size; };
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    std::vector<TokenId>& drafts = wishes[i].drafts;
    drafts.erase(std::ranges::find_if(drafts, is_none), drafts.end());
    if (drafts.empty()) continue;
    Sequence& sequence = running(wishes[i].id);
    sequence.guessed.assign(1, sequence.tokens().back());
    sequence.guessed.insert(sequence.guessed.end(), wishes[i].drafts.begin(),
                            wishes[i].drafts.end());
    plan.items[i].num_drafts = static_cast<int>(wishes[i].drafts.size());
    plan.items[i].num_rows = 1 + plan.items[i].num_drafts;
  }
}

// Guesses only take pages that no sequence needs now: each sequence may still get one more.
void EngineLoop::reserve_drafts(StepItem& item) {
  if (item.num_drafts == 0) return;
  Sequence& sequence = running(item.id);
  const std::size_t num_tokens =
      sequence.tokens().size() + static_cast<std::size_t>(item.num_drafts);
  const std::size_t held = sequence.table.blocks.size(), wanted = kv_.blocks_for(num_tokens);
  if (wanted <= held) return;
  if (kv_.num_available() >= wanted - held + running_.size() &&
      kv_.extend(sequence.table, num_tokens)) {
    return;
  }
  item.num_drafts = 0;
  item.num_rows = 1;
}

// The number of leading rows of an item that are tokens of the sequence.
int EngineLoop::num_kept(const StepItem& item) {
  if (item.num_drafts == 0) return item.num_rows;
  const Sequence& sequence = running(item.id);
  const auto known = sequence.tokens().subspan(static_cast<std::size_t>(item.begin));
  const auto [drawn, guess] = std::ranges::mismatch(known, sequence.guessed);
  return static_cast<int>(guess - sequence.guessed.begin());
}

}  // namespace tandem::engine
