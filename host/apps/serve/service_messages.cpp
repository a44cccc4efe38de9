// SPDX-License-Identifier: Apache-2.0
//
// Field by field; enumerations are mapped, not cast.
#include "apps/serve/service_messages.h"

#include <type_traits>
#include <utility>

namespace tandem::apps {
namespace {

// Vectors of ids move between the two sides.
static_assert(std::is_same_v<server::TokenId, model::TokenId>);

model::SamplingParams sampling_params(server::Sampling sampling) {
  model::SamplingParams params;
  params.temperature = sampling.temperature;
  params.top_k = sampling.top_k;
  params.top_p = sampling.top_p;
  params.min_p = sampling.min_p;
  params.repetition_penalty = sampling.repetition_penalty;
  params.presence_penalty = sampling.presence_penalty;
  params.frequency_penalty = sampling.frequency_penalty;
  params.logit_bias = std::move(sampling.logit_bias);
  params.seed = sampling.seed;
  return params;
}

server::FinishReason finish_reason(engine::FinishReason reason) {
  switch (reason) {
    case engine::FinishReason::kStop:
      return server::FinishReason::kStop;
    case engine::FinishReason::kLength:
      return server::FinishReason::kLength;
    case engine::FinishReason::kCancelled:
      return server::FinishReason::kCancelled;
    case engine::FinishReason::kError:
      break;
  }
  return server::FinishReason::kError;
}

std::vector<server::TokenLogprob> alternatives(const std::vector<model::TokenLogprob>& tokens) {
  std::vector<server::TokenLogprob> result;
  result.reserve(tokens.size());
  for (const model::TokenLogprob& token : tokens) result.push_back({token.id, token.logprob});
  return result;
}

std::vector<server::OutputToken> output_tokens(const std::vector<engine::TokenOutput>& tokens) {
  std::vector<server::OutputToken> result;
  result.reserve(tokens.size());
  for (const engine::TokenOutput& token : tokens) {
    server::OutputToken& output = result.emplace_back();
    output.id = token.id;
    output.logprob = token.logprob;
    output.top = alternatives(token.top);
  }
  return result;
}

}  // namespace

engine::Request engine_request(server::GenerationRequest request) {
  engine::Request result;
  result.prompt = std::move(request.prompt);
  result.sampling = sampling_params(std::move(request.sampling));
  result.max_tokens = request.max_tokens;
  result.stop = std::move(request.stop);
  result.stop_tokens = std::move(request.stop_tokens);
  result.ignore_eos = request.ignore_eos;
  result.priority = request.priority;
  result.top_logprobs = request.top_logprobs;
  result.prompt_logprobs = request.prompt_logprobs;
  result.continues_text = request.continues_text;
  result.caller = std::move(request.caller);
  return result;
}

server::GenerationEvent server_event(engine::RequestEvent event, bool with_tokens) {
  server::GenerationEvent result;
  result.text = std::move(event.text);
  if (with_tokens) result.tokens = output_tokens(event.tokens);
  result.prompt_logprobs = std::move(event.prompt_logprobs);
  for (const auto& top : event.prompt_top) result.prompt_top.push_back(alternatives(top));
  if (event.finish) result.finish = finish_reason(*event.finish);
  result.error = std::move(event.error);
  result.prompt_tokens = event.prompt_tokens;
  result.cached_tokens = event.cached_tokens;
  result.completion_tokens = event.completion_tokens;
  result.queue_seconds = event.times.queued;
  return result;
}

server::SubmitStatus server_status(engine::SubmitStatus status) {
  switch (status) {
    case engine::SubmitStatus::kAccepted:
      return server::SubmitStatus::kAccepted;
    case engine::SubmitStatus::kQueueFull:
      return server::SubmitStatus::kQueueFull;
    case engine::SubmitStatus::kStopping:
      break;
  }
  return server::SubmitStatus::kStopping;
}

server::SubmitResult server_result(engine::SubmitAllResult result) {
  return {server_status(result.status), std::move(result.ids)};
}

model::ChatInputs chat_inputs(server::Conversation& conversation) {
  model::ChatInputs inputs;
  inputs.tools = std::move(conversation.tools);
  inputs.variables = std::move(conversation.variables);
  return inputs;
}

std::vector<model::ChatMessage> model_messages(std::vector<server::ChatMessage> messages) {
  std::vector<model::ChatMessage> result;
  result.reserve(messages.size());
  for (server::ChatMessage& message : messages) {
    result.push_back(
        {std::move(message.role), std::move(message.content), std::move(message.fields)});
  }
  return result;
}

}  // namespace tandem::apps
