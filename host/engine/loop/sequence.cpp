// SPDX-License-Identifier: Apache-2.0
//
// Validates a request, and turns a row of logits into an event.
#include "engine/loop/sequence.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/error.h"

namespace tandem::engine {
namespace {

constexpr int kMaxTopLogprobs = 20;

double seconds(Clock::Duration duration) { return std::chrono::duration<double>(duration).count(); }

void check_request(const Request& request, int vocab_size, int max_tokens_in_all) {
  if (request.prompt.empty()) throw Error("engine", "prompt: at least one token is needed");
  if (request.max_tokens < 0) throw Error("engine", "max_tokens must not be negative");
  const int top_logprobs = request.top_logprobs.value_or(0);
  if (top_logprobs < 0 || top_logprobs > kMaxTopLogprobs) {
    throw Error("engine", "top_logprobs must be in 0..20");
  }
  const auto outside = [&](TokenId id) { return id < 0 || id >= vocab_size; };
  for (const auto* ids : {&request.prompt, &request.stop_tokens}) {
    const auto bad = std::ranges::find_if(*ids, outside);
    if (bad == ids->end()) continue;
    throw Error("engine", std::string(ids == &request.prompt ? "prompt" : "stop_tokens") +
                              ": token " + std::to_string(*bad) + " is outside the vocabulary of " +
                              std::to_string(vocab_size));
  }
  const std::size_t least = request.prompt.size() + (request.max_tokens > 0 ? 1 : 0);
  if (least > static_cast<std::size_t>(max_tokens_in_all)) {
    throw Error("engine", "the prompt has " + std::to_string(request.prompt.size()) +
                              " tokens, but prompt and output together may have only " +
                              std::to_string(max_tokens_in_all) + ": shorten the prompt");
  }
}

Request checked(Request request, int vocab_size, int max_tokens_in_all) {
  check_request(request, vocab_size, max_tokens_in_all);
  return request;
}

}  // namespace

Sequence::Sequence(RequestId id, Request request, EventSink sink, const model::Model& model,
                   int max_tokens_in_all, const Clock& clock)
    : id_(id),
      request_(checked(std::move(request), model.config().vocab_size, max_tokens_in_all)),
      sink_(std::move(sink)),
      tokenizer_(model.tokenizer()),
      sampler_(request_.sampling, model.config().vocab_size),
      detokenizer_(tokenizer_, !request_.continues_text),
      stop_matcher_(std::move(request_.stop)),
      stop_tokens_(request_.stop_tokens.begin(), request_.stop_tokens.end()),
      vocab_size_(model.config().vocab_size),
      tokens_(std::move(request_.prompt)),
      num_prompt_tokens_(static_cast<int>(tokens_.size())),
      limit_(max_tokens_in_all),
      clock_(clock),
      submitted_at_(clock_.now()) {
  // These parts are kept elsewhere, in the form that steps need.
  request_.sampling = {};
  request_.stop_tokens = {};
  sampler_.accept_prompt(tokens_);
  if (request_.prompt_logprobs) {
    prompt_logprobs_.resize(tokens_.size() - 1);
    if (request_.top_logprobs.value_or(0) > 0) prompt_top_.resize(tokens_.size() - 1);
  }
  event_.id = id_;
  event_.prompt_tokens = num_prompt_tokens_;
}

bool Sequence::needs_logits(int position) const {
  if (position + 1 == num_tokens()) return request_.max_tokens > 0;
  return !prompt_logprobs_.empty() && position + 1 < num_prompt_tokens_;
}

void Sequence::on_logits(int position, std::span<const float> logits) {
  if (finished()) return;
  const int next = position + 1;
  // After a preemption a position may be written again, until the first event takes the values.
  if (!prompt_logprobs_.empty() && next < num_prompt_tokens_) {
    score_prompt(static_cast<std::size_t>(position), logits);
  }
  if (next == num_tokens() && request_.max_tokens > 0) {
    accept(sampler_.sample(logits, request_.top_logprobs));
  }
}

void Sequence::score_prompt(std::size_t position, std::span<const float> logits) {
  const int num_top = prompt_top_.empty() ? 0 : *request_.top_logprobs;
  model::SampledToken token = model::scored(logits, tokens_[position + 1], num_top);
  prompt_logprobs_[position] = token.logprob;
  if (num_top > 0) prompt_top_[position] = std::move(token.top);
}

void Sequence::take_prompt_scores() {
  event_.prompt_logprobs = std::exchange(prompt_logprobs_, {});
  event_.prompt_top = std::exchange(prompt_top_, {});
}

std::optional<device::SampleRow> Sequence::device_draw(int position) {
  if (position + 1 != num_tokens() || request_.max_tokens == 0) return {};
  if (request_.top_logprobs || !prompt_logprobs_.empty()) return {};
  const auto draw = sampler_.plain_draw();
  if (!draw) return {};
  return device::SampleRow{draw->temperature, draw->top_k, draw->top_p, draw->uniform};
}

void Sequence::on_token(int position, TokenId token) {
  if (finished() || position + 1 != num_tokens()) return;
  if (token < 0 || token >= vocab_size_) {
    throw Error("sampler", "the device drew no token: the model's output holds no finite logit");
  }
  sampler_.accept_draw();
  accept({token, 0, {}});
}

bool Sequence::ends_generation(TokenId id) const {
  return (tokenizer_.is_end_of_generation(id) && !request_.ignore_eos) || stop_tokens_.contains(id);
}

void Sequence::accept(const model::SampledToken& sampled) {
  note_time();
  take_prompt_scores();
  if (ends_generation(sampled.id)) return finish(FinishReason::kStop);
  tokens_.push_back(sampled.id);
  event_.tokens.push_back({sampled.id, sampled.logprob, sampled.top});
  event_.completion_tokens = num_generated();
  if (push_text(detokenizer_.push(sampled.id))) return finish(FinishReason::kStop);
  if (num_generated() >= request_.max_tokens || num_tokens() >= limit_) {
    finish(FinishReason::kLength);
  }
}

void Sequence::note_time() {
  const auto now = clock_.now();
  if (num_generated() == 0) {
    first_token_at_ = now;
    first_token_pending_ = true;
    times_.time_to_first_token = seconds(now - submitted_at_);
    times_.prefill = seconds(now - scheduled_at_);
  } else {
    token_gap_ = seconds(now - last_token_at_);
  }
  last_token_at_ = now;
}

bool Sequence::push_text(const std::string& text) {
  event_.text += stop_matcher_.push(text);
  if (!stop_matcher_.stopped()) return false;
  event_.stop_text = stop_matcher_.matched();
  return true;
}

void Sequence::flush_text() {
  if (!push_text(detokenizer_.finish())) event_.text += stop_matcher_.finish();
}

bool Sequence::on_scheduled(int num_cached_tokens) {
  if (scheduled_) return false;
  scheduled_at_ = clock_.now();
  scheduled_ = true;
  times_.queued = seconds(scheduled_at_ - submitted_at_);
  event_.cached_tokens = num_cached_tokens;
  return true;
}

void Sequence::lower_limit(int max_tokens_in_all) { limit_ = std::min(limit_, max_tokens_in_all); }

void Sequence::finish(FinishReason reason, const std::string& error) {
  if (finished()) return;
  if (reason == FinishReason::kStop || reason == FinishReason::kLength) flush_text();
  if (reason == FinishReason::kLength && !event_.stop_text.empty()) reason = FinishReason::kStop;
  if (!prompt_logprobs_.empty() && reason != FinishReason::kCancelled &&
      reason != FinishReason::kError) {
    take_prompt_scores();
  }
  event_.finish = reason;
  event_.error = error;
  if (num_generated() > 0) times_.decode = seconds(last_token_at_ - first_token_at_);
  event_.times = times_;
}

bool Sequence::has_event() const {
  return finished() || !event_.tokens.empty() || !event_.text.empty() ||
         !event_.prompt_logprobs.empty();
}

RequestEvent Sequence::take_event() {
  RequestEvent event = event_;
  event_.text.clear();
  event_.tokens.clear();
  event_.prompt_logprobs.clear();
  event_.prompt_top.clear();
  return event;
}

std::optional<double> Sequence::take_token_gap() { return std::exchange(token_gap_, {}); }

bool Sequence::take_first_token() { return std::exchange(first_token_pending_, false); }

}  // namespace tandem::engine
