// SPDX-License-Identifier: Apache-2.0
//
// Turns parsed requests into generation requests.
#include "server/openai/endpoints.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/openai/answer_limits.h"
#include "server/openai/api_error.h"
#include "server/openai/generation_call.h"
#include "server/openai/prompt_tokens.h"

namespace tandem::server::openai {
namespace {

using nlohmann::ordered_json;

constexpr int kDefaultCompletionTokens = 16;  // OpenAI's

// A request with more choices than can wait at once could never be admitted.
RequestContext context_of(const ApiContext& context) {
  const ModelCard card = context.service.model();
  RequestContext result{card.id,
                        context.service.vocab_size(),
                        context.limits,
                        context.strict,
                        card.aliases,
                        [&service = context.service](std::string_view name) {
                          return service.chat_template_reads(name);
                        }};
  result.limits.max_choices = std::min(result.limits.max_choices, context.service.max_waiting());
  return result;
}

GenerationRequest generation_request(GenerationOptions& options, std::vector<TokenId> prompt) {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.sampling = options.sampling;
  request.stop = options.stop;
  request.stop_tokens = options.stop_tokens;
  request.ignore_eos = options.ignore_eos;
  request.priority = options.priority;
  if (options.logprobs) request.top_logprobs = options.top_logprobs;
  return request;
}

// Formats the value of a header: quoted, and only ASCII.
std::string ignored_warning(const std::vector<std::string>& ignored) {
  std::string names;
  for (const std::string& name : ignored) {
    names += names.empty() ? "" : ", ";
    for (const char c : name.substr(0, 200)) {
      names += c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : c;
    }
  }
  return "299 tandem \"fields without a meaning here are ignored: " + names + "\"";
}

std::string warning_of(const GenerationOptions& options) {
  std::string text;
  if (!options.ignored.empty()) text = ignored_warning(options.ignored);
  if (!options.asked_better_priority) return text;
  return text + (text.empty() ? "" : ", ") + "299 tandem \"the request has the priority " +
         std::to_string(options.priority) + ", the best that it may have\"";
}

GenerationPlan plan_for(AnswerKind kind, const GenerationOptions& options) {
  GenerationPlan plan;
  plan.kind = kind;
  plan.choices_per_prompt = options.num_choices;
  plan.stream = options.stream;
  plan.include_usage = options.include_usage;
  plan.logprobs = options.logprobs;
  plan.warning = warning_of(options);
  return plan;
}

std::string echo_of(const PromptInput& prompt, const GenerationService& service) {
  std::string text;
  for (const TextPart& part : prompt.parts) text += part.text;
  for (const TokenId token : prompt.tokens) text += service.token_bytes(token);
  return text;
}

ordered_json model_object(const ModelCard& card) {
  ordered_json object = {{"id", card.id},
                         {"object", "model"},
                         {"created", card.created},
                         {"owned_by", "tandem"},
                         {"context_length", card.context_length}};
  if (!card.aliases.empty()) object["aliases"] = card.aliases;
  return object;
}

using Plan = GenerationPlan (*)(const std::string&, const ApiContext&);

void start(http::Exchange& exchange, std::shared_ptr<const ApiContext> context, Plan plan) {
  const ApiContext& shared = *context;
  auto prepare = [&shared, plan](const std::string& body) { return plan(body, shared); };
  GenerationCall::start(exchange, std::move(context), std::move(prepare));
}

}  // namespace

GenerationPlan plan_completion(const std::string& body, const ApiContext& context) {
  const GenerationService& service = context.service;
  CompletionRequest request = parse_completion_request(body, context_of(context));
  GenerationOptions& options = request.options;
  GenerationPlan plan = plan_for(AnswerKind::kCompletion, options);
  const int wanted = options.max_tokens.value_or(kDefaultCompletionTokens);
  for (PromptInput& input : request.prompts) {
    PlannedPrompt& prompt = plan.prompts.emplace_back();
    if (request.echo) prompt.echo = echo_of(input, service);
    std::vector<TokenId> tokens =
        input.parts.empty() ? std::move(input.tokens) : tokens_of_text(input.parts, service);
    PromptTokens fitting = with_room(std::move(tokens), service, "prompt");
    prompt.request = generation_request(options, std::move(fitting.tokens));
    prompt.scores_only = wanted == 0;
    prompt.request.max_tokens = std::clamp(wanted, 1, fitting.room);
    prompt.request.continues_text = true;
    prompt.echo_logprobs = request.echo && options.logprobs;
    prompt.request.prompt_logprobs = prompt.echo_logprobs;
  }
  limit_tokens(plan, context.limits, options.max_tokens.has_value());
  limit_bytes(plan, context.limits);
  return plan;
}

GenerationPlan plan_chat(const std::string& body, const ApiContext& context) {
  const GenerationService& service = context.service;
  ChatRequest request = parse_chat_request(body, context_of(context));
  GenerationOptions& options = request.options;
  GenerationPlan plan = plan_for(AnswerKind::kChat, options);
  PromptTokens fitting =
      with_room(tokens_of_chat(std::move(request.conversation), service), service, "messages");
  PlannedPrompt& prompt = plan.prompts.emplace_back();
  prompt.request = generation_request(options, std::move(fitting.tokens));
  prompt.request.max_tokens = std::min(options.max_tokens.value_or(fitting.room), fitting.room);
  prompt.request.continues_text = false;
  limit_tokens(plan, context.limits, options.max_tokens.has_value());
  limit_bytes(plan, context.limits);
  return plan;
}

void handle_completion(http::Exchange& exchange, std::shared_ptr<const ApiContext> context) {
  start(exchange, std::move(context), plan_completion);
}

void handle_chat(http::Exchange& exchange, std::shared_ptr<const ApiContext> context) {
  start(exchange, std::move(context), plan_chat);
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

bool is_named(const ModelCard& card, std::string_view name) {
  return name == card.id || std::ranges::find(card.aliases, name) != card.aliases.end();
}

}  // namespace tandem::server::openai
