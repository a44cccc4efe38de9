// SPDX-License-Identifier: Apache-2.0
//
// Sequence: one request in the engine: its known tokens, the pages that hold their KV, and the
// state that turns logits into events.
//
// The tokens (prompt + generated) are the truth, and pages are a cache of them: a sequence can be
// rebuilt anywhere from its tokens. It samples once per position, however often the KV is computed
// again. Threads: made by the submitting thread, then used by the engine's only. Errors: the
// constructor throws Error when the request is not valid.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "common/clock.h"
#include "device/compute_unit.h"
#include "engine/kv_cache/kv_cache.h"
#include "engine/request.h"
#include "model/model.h"
#include "model/sampler/sampler.h"
#include "model/sampler/stop_matcher.h"
#include "model/tokenizer/tokenizer.h"

namespace tandem::engine {

struct CallerQueue;

class Sequence {
 public:
  // `max_tokens_in_all`: limit of prompt + output. The clock measures RequestTimes.
  Sequence(RequestId id, Request request, EventSink sink, const model::Model& model,
           int max_tokens_in_all, const Clock& clock);

  RequestId id() const { return id_; }
  const std::string& caller() const { return request_.caller; }
  int priority() const { return request_.priority; }
  const EventSink& sink() const { return sink_; }
  std::span<const TokenId> tokens() const { return tokens_; }
  int num_tokens() const { return static_cast<int>(tokens_.size()); }
  int num_prompt_tokens() const { return num_prompt_tokens_; }
  // The most that prompt + output may reach.
  int most_tokens() const {
    return static_cast<int>(
        std::min<std::int64_t>(limit_, std::int64_t{num_prompt_tokens_} + request_.max_tokens));
  }
  int num_generated() const { return num_tokens() - num_prompt_tokens_; }
  bool wants_prompt_logprobs() const { return request_.prompt_logprobs; }
  bool may_use_prefix_cache() const { return !request_.prompt_logprobs; }

  // Whether on_logits() needs the logits after tokens[position].
  bool needs_logits(int position) const;
  // Takes the logits after tokens[position]; after the last known token it samples the next one.
  // Throws Error when they cannot be sampled; the caller then finishes the sequence.
  void on_logits(int position, std::span<const float> logits);

  // How a device draws the token after tokens[position]; empty if the logits are needed.
  std::optional<device::SampleRow> device_draw(int position);
  // The token that the device drew. Errors as on_logits().
  void on_token(int position, TokenId token);

  // Called at every admission; true the first time.
  bool on_scheduled(int num_cached_tokens);
  void lower_limit(int max_tokens_in_all);
  void finish(FinishReason reason, const std::string& error = {});

  bool finished() const { return event_.finish.has_value(); }
  bool failed() const { return event_.finish == FinishReason::kError; }
  bool has_event() const;
  RequestEvent take_event();
  FinishReason finish_reason() const { return *event_.finish; }
  const RequestTimes& times() const { return times_; }
  int num_cached_tokens() const { return event_.cached_tokens; }
  // Returns the seconds since the previous token, once per token; nothing for the first token.
  std::optional<double> take_token_gap();
  bool take_first_token();  // true once, after the first token

  // The loop uses these members.
  PageTable table;
  int num_computed = 0;  // leading tokens whose KV is in the table's pages
  int num_refusals = 0;  // admissions that failed
  // the last known token and the guesses after it, in a step that has guesses
  std::vector<TokenId> guessed;
  CallerQueue* queue = nullptr;
  int num_reached = 0;          // tokens that were computed before its pages were released
  int num_restored = 0;         // of these, the leading tokens that were restored from host memory
  std::uint64_t last_step = 0;  // the last step in which the sequence had rows
  // how often newer sequences of other callers were admitted before it, while its caller had none
  // running
  int num_passed = 0;

 private:
  void accept(const model::SampledToken& sampled);
  void score_prompt(std::size_t position, std::span<const float> logits);
  void take_prompt_scores();
  bool ends_generation(TokenId id) const;
  bool push_text(const std::string& text);  // true: a stop text was met
  void flush_text();
  void note_time();

  RequestId id_;
  Request request_;
  EventSink sink_;
  const model::Tokenizer& tokenizer_;
  model::Sampler sampler_;
  model::Detokenizer detokenizer_;
  model::StopMatcher stop_matcher_;
  const std::unordered_set<TokenId> stop_tokens_;
  const int vocab_size_;
  std::vector<TokenId> tokens_;
  int num_prompt_tokens_;
  int limit_;

  RequestEvent event_;
  std::vector<float> prompt_logprobs_;  // [prompt - 1], until the first event takes them
  std::vector<std::vector<model::TokenLogprob>> prompt_top_;  // as prompt_logprobs_, or empty
  bool scheduled_ = false;
  bool first_token_pending_ = false;
  std::optional<double> token_gap_;
  const Clock& clock_;
  Clock::TimePoint submitted_at_, scheduled_at_, first_token_at_, last_token_at_;
  RequestTimes times_;
};

}  // namespace tandem::engine
