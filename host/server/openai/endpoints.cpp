// SPDX-License-Identifier: Apache-2.0
//
// From parsed requests to generation requests. Choice i of a prompt draws with seed + i.
#include "server/openai/endpoints.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "server/openai/generation_call.h"

namespace tandem::server::openai {
namespace {

using nlohmann::ordered_json;

constexpr int kDefaultCompletionTokens = 16;  // OpenAI's

RequestContext context_of(const GenerationService& service, const RequestLimits& limits) {
  return {service.model().id, service.vocab_size(), limits};
}

GenerationRequest generation_request(const GenerationOptions& options,
                                     std::vector<TokenId> prompt) {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.sampling = options.sampling;
  request.stop = options.stop;
  request.stop_tokens = options.stop_tokens;
  request.ignore_eos = options.ignore_eos;
  if (options.logprobs) request.top_logprobs = options.top_logprobs;
  return request;
}

[[noreturn]] void refuse_length(const std::string& prompt_tokens, int max_request_tokens,
                                const char* param) {
  throw ApiError(400,
                 "This model's context holds " + std::to_string(max_request_tokens) +
                     " tokens, of which at least one must be left for the output, but the "
                     "prompt has " +
                     prompt_tokens + " tokens; shorten it",
                 param, "context_length_exceeded");
}

// Checks the prompt against the context and returns how many tokens may follow it.
int output_room(std::size_t prompt_tokens, int max_request_tokens, const char* param) {
  if (prompt_tokens == 0) throw ApiError(400, "the prompt has no tokens", param);
  if (prompt_tokens >= static_cast<std::size_t>(max_request_tokens)) {
    refuse_length(std::to_string(prompt_tokens), max_request_tokens, param);
  }
  return max_request_tokens - static_cast<int>(prompt_tokens);
}

// Tokenising is expensive, so a text whose length already shows that it cannot fit is refused
// first.
std::vector<TokenId> tokens_of(const std::string& text, const GenerationService& service) {
  const std::size_t longest = service.longest_token_bytes();
  const std::size_t at_least = longest == 0 ? 0 : (text.size() + longest - 1) / longest;
  const int max_tokens = service.max_request_tokens();
  if (at_least > static_cast<std::size_t>(max_tokens)) {
    refuse_length("at least " + std::to_string(at_least), max_tokens, "prompt");
  }
  return service.tokenize(text);
}

GenerationPlan plan_for(AnswerKind kind, const GenerationOptions& options) {
  GenerationPlan plan;
  plan.kind = kind;
  plan.choices_per_prompt = options.num_choices;
  plan.stream = options.stream;
  plan.include_usage = options.include_usage;
  plan.logprobs = options.logprobs;
  return plan;
}

void add_choices(GenerationPlan& plan, const GenerationOptions& options,
                 const PlannedChoice& choice) {
  for (int i = 0; i < options.num_choices; ++i) {
    plan.choices.push_back(choice);
    auto& seed = plan.choices.back().request.sampling.seed;
    if (seed) *seed += static_cast<std::uint64_t>(i);
  }
}

std::string text_of(const std::vector<TokenId>& tokens, const GenerationService& service) {
  std::string text;
  for (const TokenId token : tokens) text += service.token_bytes(token);
  return text;
}

ordered_json model_object(const ModelCard& card) {
  return {{"id", card.id},
          {"object", "model"},
          {"created", card.created},
          {"owned_by", "tandem"},
          {"context_length", card.context_length}};
}

}  // namespace

void handle_completion(http::Exchange& exchange, GenerationService& service,
                       const RequestLimits& limits) {
  CompletionRequest request =
      parse_completion_request(exchange.request().body, context_of(service, limits));
  const GenerationOptions& options = request.options;
  GenerationPlan plan = plan_for(AnswerKind::kCompletion, options);
  for (PromptInput& prompt : request.prompts) {
    const bool is_text = prompt.tokens.empty();
    PlannedChoice choice;
    choice.request = generation_request(
        options, is_text ? tokens_of(prompt.text, service) : std::move(prompt.tokens));
    const auto& tokens = choice.request.prompt;
    const int room = output_room(tokens.size(), service.max_request_tokens(), "prompt");
    const int wanted = options.max_tokens.value_or(kDefaultCompletionTokens);
    choice.scores_only = wanted == 0;
    choice.request.max_tokens = std::clamp(wanted, 1, room);
    choice.request.continues_text = true;
    if (request.echo) choice.echo = is_text ? prompt.text : text_of(tokens, service);
    choice.echo_logprobs = request.echo && options.logprobs;
    choice.request.prompt_logprobs = choice.echo_logprobs;
    add_choices(plan, options, choice);
  }
  GenerationCall::start(exchange, service, std::move(plan));
}

void handle_chat(http::Exchange& exchange, GenerationService& service,
                 const RequestLimits& limits) {
  ChatRequest request = parse_chat_request(exchange.request().body, context_of(service, limits));
  const GenerationOptions& options = request.options;
  PlannedChoice choice;
  try {
    choice.request =
        generation_request(options, service.tokenize_chat(std::move(request.messages)));
  } catch (const PromptTooLong& error) {
    refuse_length("at least " + std::to_string(error.at_least_tokens), service.max_request_tokens(),
                  "messages");
  } catch (const Error& error) {  // the template refuses this conversation
    throw ApiError(400, error.what(), "messages");
  }
  const int room =
      output_room(choice.request.prompt.size(), service.max_request_tokens(), "messages");
  choice.request.max_tokens = std::min(options.max_tokens.value_or(room), room);
  choice.request.continues_text = false;
  GenerationPlan plan = plan_for(AnswerKind::kChat, options);
  add_choices(plan, options, choice);
  GenerationCall::start(exchange, service, std::move(plan));
}

std::string health_body(bool healthy, const std::vector<std::string>& lost_devices) {
  nlohmann::json body = {{"status", healthy ? "ok" : "unhealthy"}};
  if (healthy && !lost_devices.empty()) body["status"] = "degraded";
  if (!lost_devices.empty()) body["lost"] = lost_devices;
  return body.dump();
}

std::string model_list_body(const ModelCard& card) {
  const ordered_json body = {{"object", "list"}, {"data", {model_object(card)}}};
  return body.dump();
}

std::string model_body(const ModelCard& card) { return model_object(card).dump(); }

}  // namespace tandem::server::openai
