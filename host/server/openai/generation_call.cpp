// SPDX-License-Identifier: Apache-2.0
//
// Events of different choices have no order: a stream carries them as they come, each with its
// index. Cost: one posted closure per event; the connection's thread makes the JSON.
#include "server/openai/generation_call.h"

#include <spdlog/spdlog.h>

#include "common/error.h"

namespace tandem::server::openai {
namespace {

// No 503: clients repeat a request after that by themselves.
ApiError cancelled_by_operator() {
  return ApiError(403, "an operator of this server cancelled this request", "", "cancelled");
}

}  // namespace

void GenerationCall::start(http::Exchange& exchange, GenerationService& service,
                           GenerationPlan plan) {
  const auto call = std::make_shared<GenerationCall>(exchange, service, std::move(plan));
  call->submit_all();
  exchange.keep(call);
  if (!call->plan_.stream) return;
  http::Response head;
  head.content_type = "text/event-stream";
  head.headers.push_back({"Cache-Control", "no-cache"});
  head.headers.push_back({"X-Accel-Buffering", "no"});  // reverse proxies must not buffer events
  exchange.begin_stream(std::move(head));
  for (const Choice& choice : call->choices_) {
    exchange.write(call->format_.opening_event(choice.whole.index));
  }
}

GenerationCall::GenerationCall(http::Exchange& exchange, GenerationService& service,
                               GenerationPlan plan)
    : exchange_(exchange),
      service_(service),
      record_(exchange.request().record),
      plan_(std::move(plan)),
      format_(plan_.kind, service.model().id, plan_.include_usage),
      choices_(plan_.choices.size()),
      num_unfinished_(choices_.size()) {
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    choices_[i].whole.index = static_cast<int>(i);
    if (plan_.logprobs && plan_.kind == AnswerKind::kCompletion) {
      choices_[i].completion_logprobs = std::make_unique<CompletionLogprobs>(
          service, plan_.choices[i].request.top_logprobs.value_or(0));
    }
    if (i % static_cast<std::size_t>(plan_.choices_per_prompt) == 0) {
      usage_.prompt_tokens += static_cast<int>(plan_.choices[i].request.prompt.size());
    }
  }
}

void GenerationCall::submit_all() {
  const http::Poster post = exchange_.poster();
  const std::string caller = record_->caller();
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    auto sink = [post, weak = weak_from_this(), i](GenerationEvent event) {
      post([weak, i, event = std::move(event)]() mutable {
        if (const auto call = weak.lock()) call->on_event(i, std::move(event));
      });
    };
    plan_.choices[i].request.caller = caller;
    SubmitResult result;
    try {
      result = service_.submit(plan_.choices[i].request, std::move(sink));
    } catch (const Error& error) {
      abandon();
      throw ApiError(400, error.what());
    } catch (...) {
      abandon();
      throw;
    }
    if (result.status != SubmitStatus::kAccepted) {
      abandon();
      if (result.status == SubmitStatus::kStopping) {
        throw ApiError(503, "the server is stopping");
      }
      throw ApiError(429, "the queue is full; try again later", "", "queue_full");
    }
    choices_[i].id = result.id;
    choices_[i].submitted = true;
    if (!record_->add_generation(result.id)) {
      abandon();
      throw cancelled_by_operator();
    }
  }
  record_->add_tokens(usage_.prompt_tokens, 0);
}

void GenerationCall::on_event(std::size_t index, GenerationEvent event) {
  Choice& choice = choices_[index];
  if (over_ || choice.finished) return;
  choice.finished = event.finish.has_value();
  note_progress(index, event);
  if (event.finish == FinishReason::kError) {
    return fail(ApiError(500, "generation failed: " + event.error));
  }
  if (event.finish == FinishReason::kCancelled) {
    if (record_->is_cancelled()) return fail(cancelled_by_operator());
    return fail(ApiError(503, "the server cancelled this request because it is stopping"));
  }
  take_piece(index, event);
  if (!choice.finished) return;
  count_usage(index, event);
  if (--num_unfinished_ == 0) finish();
}

void GenerationCall::note_progress(std::size_t index, const GenerationEvent& event) {
  Choice& choice = choices_[index];
  if (choice.finished) record_->set_queue_seconds(event.queue_seconds);
  if (plan_.choices[index].scores_only || event.completion_tokens <= choice.counted_tokens) return;
  record_->add_tokens(0, event.completion_tokens - choice.counted_tokens);
  choice.counted_tokens = event.completion_tokens;
}

void GenerationCall::take_piece(std::size_t index, GenerationEvent& event) {
  Choice& choice = choices_[index];
  const PlannedChoice& planned = plan_.choices[index];
  AnswerPiece piece;
  piece.index = choice.whole.index;
  piece.finish = event.finish;
  if (planned.scores_only) {
    event.text.clear();
    event.tokens.clear();
    if (piece.finish) piece.finish = FinishReason::kLength;
  }
  if (!choice.echoed) {
    choice.echoed = true;
    piece.text = planned.echo;
    if (planned.echo_logprobs) {
      choice.completion_logprobs->add_prompt(planned.request.prompt, event.prompt_logprobs,
                                             planned.echo);
    }
  }
  piece.text += event.text;
  if (plan_.logprobs && choice.completion_logprobs) {
    choice.completion_logprobs->add(event.tokens);
  } else if (plan_.logprobs) {
    choice.tokens.insert(choice.tokens.end(), event.tokens.begin(), event.tokens.end());
  }
  if (!plan_.stream) {
    choice.whole.text += piece.text;
    choice.whole.finish = piece.finish;
    return;
  }
  piece.logprobs = logprobs_of(choice);
  if (piece.text.empty() && piece.logprobs.is_null() && !piece.finish) return;
  exchange_.write(format_.event(piece));
}

nlohmann::ordered_json GenerationCall::logprobs_of(Choice& choice) const {
  if (!plan_.logprobs) return nullptr;
  if (choice.completion_logprobs) return choice.completion_logprobs->take();
  if (plan_.stream && choice.tokens.empty()) return nullptr;
  return chat_logprobs(std::exchange(choice.tokens, {}), service_);
}

void GenerationCall::count_usage(std::size_t index, const GenerationEvent& event) {
  if (!plan_.choices[index].scores_only) usage_.completion_tokens += event.completion_tokens;
  if (index % static_cast<std::size_t>(plan_.choices_per_prompt) == 0) {
    usage_.cached_tokens += event.cached_tokens;
  }
}

void GenerationCall::finish() {
  over_ = true;
  if (plan_.stream) {
    if (plan_.include_usage) exchange_.write(format_.usage_event(usage_));
    exchange_.write(AnswerFormat::done_event());
    exchange_.end_stream();
    return;
  }
  std::vector<AnswerPiece> pieces;
  for (Choice& choice : choices_) {
    choice.whole.logprobs = logprobs_of(choice);
    pieces.push_back(std::move(choice.whole));
  }
  http::Response response;
  response.body = format_.whole(pieces, usage_);
  exchange_.respond(std::move(response));
}

void GenerationCall::fail(const ApiError& error) {
  over_ = true;
  cancel_unfinished();
  if (!plan_.stream) return exchange_.respond(error_response(error));
  exchange_.write(AnswerFormat::error_event(error_body(error)));
  exchange_.write(AnswerFormat::done_event());
  exchange_.end_stream();
}

void GenerationCall::abandon() {
  if (over_) return;
  over_ = true;
  cancel_unfinished();
}

void GenerationCall::cancel_unfinished() {
  for (const Choice& choice : choices_) {
    if (choice.submitted && !choice.finished) service_.cancel(choice.id);
  }
}

}  // namespace tandem::server::openai
