// SPDX-License-Identifier: Apache-2.0
//
// Events of different choices have no order, so a stream carries them as they come, each with its
// index.
#include "server/openai/answer_builder.h"

#include <utility>

#include "server/openai/api_error.h"
#include "server/openai/json_text.h"

namespace tandem::server::openai {

AnswerBuilder::AnswerBuilder(const GenerationService& service, const GenerationPlan& plan,
                             std::size_t max_plain_bytes, std::shared_ptr<AnswerMemory> memory)
    : plan_(plan),
      max_plain_bytes_(max_plain_bytes),
      share_(std::make_shared<AnswerMemory::Share>(std::move(memory))),
      format_(plan.kind, service.model().id, plan.include_usage),
      choices_(plan.num_choices()),
      num_unfinished_(choices_.size()) {
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    const GenerationRequest& request = plan.prompts[plan.prompt_of(i)].request;
    choice.piece.index = static_cast<int>(i);
    if (plan.logprobs && plan.kind == AnswerKind::kCompletion) {
      choice.completion_logprobs =
          std::make_unique<CompletionLogprobs>(service, request.top_logprobs.value_or(0));
    } else if (plan.logprobs) {
      choice.chat_logprobs = std::make_unique<ChatLogprobs>(service);
    }
    if (plan.is_first_of_prompt(i)) {
      num_prompt_tokens_ += static_cast<int>(request.prompt.size());
    }
  }
}

void AnswerBuilder::append_opening(std::string& out) const {
  for (const Choice& choice : choices_) format_.append_opening_event(out, choice.piece.index);
}

void AnswerBuilder::take(std::size_t index, GenerationEvent& event, std::string& out) {
  Choice& choice = choices_[index];
  if (choice.finished) return;
  if (event.finish == FinishReason::kError) {
    throw ApiError(500, "generation failed: " + event.error);
  }
  if (event.finish == FinishReason::kCancelled) {
    throw ApiError(503, "the server cancelled this request because it is stopping", "", "stopping");
  }
  has_output_ = true;
  AnswerPiece piece;
  piece.index = choice.piece.index;
  piece.finish = event.finish;
  if (plan_.prompts[plan_.prompt_of(index)].scores_only) {
    event.text.clear();
    event.tokens.clear();
    if (piece.finish) piece.finish = FinishReason::kLength;
  }
  if (!std::exchange(choice.echoed, true)) echo(index, event, piece);
  append_escaped(piece.text, event.text);
  add_logprobs(choice, event.tokens);
  choice.completion_tokens = event.completion_tokens;
  choice.cached_tokens = event.cached_tokens;
  if (event.finish) {
    choice.finished = true;
    --num_unfinished_;
  }
  if (!plan_.stream) return keep(choice, std::move(piece));
  take_logprobs(choice, piece);
  if (piece.text.empty() && piece.logprobs.empty() && !piece.finish) return;
  format_.append_event(out, piece);
}

void AnswerBuilder::echo(std::size_t index, const GenerationEvent& event, AnswerPiece& piece) {
  const PlannedPrompt& prompt = plan_.prompts[plan_.prompt_of(index)];
  append_escaped(piece.text, prompt.echo);
  if (!prompt.echo_logprobs) return;
  choices_[index].completion_logprobs->add_prompt(prompt.request.prompt, event, prompt.echo);
}

void AnswerBuilder::add_logprobs(Choice& choice, const std::vector<OutputToken>& tokens) {
  if (choice.completion_logprobs) choice.completion_logprobs->add(tokens);
  if (choice.chat_logprobs) choice.chat_logprobs->add(tokens);
}

void AnswerBuilder::take_logprobs(Choice& choice, AnswerPiece& piece) {
  if (choice.completion_logprobs) choice.completion_logprobs->take(piece.logprobs);
  if (!choice.chat_logprobs || (plan_.stream && choice.chat_logprobs->empty())) return;
  choice.chat_logprobs->take(piece.logprobs);
}

void AnswerBuilder::keep(Choice& choice, AnswerPiece piece) {
  choice.piece.text += piece.text;
  choice.piece.finish = piece.finish;
  std::size_t bytes = choice.piece.text.size();
  if (choice.completion_logprobs) bytes += choice.completion_logprobs->bytes();
  if (choice.chat_logprobs) bytes += choice.chat_logprobs->bytes();
  bytes_ += bytes - std::exchange(choice.bytes, bytes);
  if (bytes_ <= max_plain_bytes_) return share_->hold(bytes_);
  throw ApiError(400,
                 "the answer has passed " + std::to_string(max_plain_bytes_) +
                     " bytes; use stream: true, or lower n, max_tokens or top_logprobs",
                 "", "answer_too_large");
}

Usage AnswerBuilder::usage() const {
  Usage usage;
  usage.prompt_tokens = num_prompt_tokens_;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const bool scores_only = plan_.prompts[plan_.prompt_of(i)].scores_only;
    if (!scores_only) usage.completion_tokens += choices_[i].completion_tokens;
    if (plan_.is_first_of_prompt(i)) usage.cached_tokens += choices_[i].cached_tokens;
  }
  return usage;
}

void AnswerBuilder::cut_short(std::string& out) {
  for (Choice& choice : choices_) {
    if (std::exchange(choice.finished, true)) continue;
    --num_unfinished_;
    choice.piece.finish = FinishReason::kLength;
    if (plan_.stream) {
      format_.append_event(out, {choice.piece.index, {}, {}, FinishReason::kLength});
    }
  }
}

void AnswerBuilder::append_end(std::string& out) {
  if (plan_.include_usage) format_.append_usage_event(out, usage());
  AnswerFormat::append_done_event(out);
}

std::string AnswerBuilder::whole() {
  constexpr std::size_t kFrameBytes = 256;  // about those around a choice, and around all
  std::string body;
  body.reserve(bytes_ + kFrameBytes * (choices_.size() + 2));
  format_.begin_whole(body);
  for (Choice& choice : choices_) {
    if (&choice != choices_.data()) body += ',';
    take_logprobs(choice, choice.piece);
    // Moved out, so that its memory is freed before the next piece takes some.
    const AnswerPiece piece = std::exchange(choice.piece, {});
    format_.append_choice(body, piece);
  }
  format_.end_whole(body, usage());
  return body;
}

}  // namespace tandem::server::openai
