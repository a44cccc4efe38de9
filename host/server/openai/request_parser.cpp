// SPDX-License-Identifier: Apache-2.0
//
// The fields that only one kind of request has: prompt, echo, and the two forms of logprobs and of
// the output limit.
#include "server/openai/request_parser.h"

#include <algorithm>
#include <limits>

#include "common/counted.h"
#include "server/openai/api_error.h"
#include "server/openai/conversation.h"
#include "server/openai/field_reader.h"
#include "server/openai/generation_options.h"
#include "server/openai/json_document.h"

namespace tandem::server::openai {
namespace {

using json = nlohmann::ordered_json;

constexpr int kMaxTopLogprobs = 20;
constexpr std::int64_t kMaxTokens = std::numeric_limits<int>::max();

// The one model need not be named.
void check_model(FieldReader& fields, const RequestContext& context) {
  const json* value = fields.find("model");
  if (value == nullptr) return;
  const std::string& model = string_value(*value, "model");
  const auto& aliases = context.aliases;
  if (model == context.model_id || std::ranges::find(aliases, model) != aliases.end()) return;
  throw ApiError(
      404,
      "The model '" + model + "' does not exist here; this server has '" + context.model_id + "'",
      "model", "model_not_found");
}

struct PromptReading {
  const RequestContext* context;
  bool parse_special;
  std::vector<std::string>* ignored;  // as GenerationOptions::unknown_fields()
};

void check_choices(const char* field, std::size_t num_prompts, int n,
                   const RequestContext& context) {
  const std::size_t choices = num_prompts * static_cast<std::size_t>(n);
  if (choices <= static_cast<std::size_t>(context.limits.max_choices)) return;
  fail_field(field, "asks for " + counted(num_prompts, "prompt") + " x " + counted(n, "choice") +
                        " = " + std::to_string(choices) + "; this server takes at most " +
                        std::to_string(context.limits.max_choices) + " per request");
}

// [{"text": ..., "parse_special": false}, ...]: one prompt. So text of a user and control tokens of
// a template stand side by side.
PromptInput read_parts(const json& parts, const PromptReading& reading) {
  PromptInput prompt;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string path = indexed("prompt", i);
    FieldReader part(object_value(parts[i], path), path + ".");
    TextPart& added = prompt.parts.emplace_back();
    added.text = string_value(part.require("text"), part.path("text"));
    added.parse_special = part.boolean("parse_special").value_or(reading.parse_special);
    part.check_unread(reading.ignored);
  }
  return prompt;
}

std::vector<PromptInput> read_prompts(const json& prompt, const PromptReading& reading) {
  const RequestContext& context = *reading.context;
  std::vector<PromptInput> result;
  const auto add_text = [&](const std::string& text) {
    result.push_back({{{text, reading.parse_special}}, {}});
  };
  if (prompt.is_string()) {
    add_text(prompt.get_ref<const std::string&>());
    return result;
  }
  if (!prompt.is_array() || prompt.empty()) {
    fail_field("prompt",
               "must be a string, or a non-empty array of strings, of token ids, of arrays of "
               "token ids, or of {\"text\": ...} objects");
  }
  if (prompt.front().is_object()) return {read_parts(prompt, reading)};
  if (prompt.front().is_number()) {
    result.push_back({{}, read_token_ids(prompt, "prompt", context)});
    return result;
  }
  check_choices("prompt", prompt.size(), 1, context);
  const bool texts = prompt.front().is_string();
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    const std::string path = indexed("prompt", i);
    if (texts) {
      add_text(string_value(prompt[i], path));
    } else {
      result.push_back({{}, read_token_ids(prompt[i], path, context)});
      if (result.back().tokens.empty()) fail_field(path, "must not be empty");
    }
  }
  return result;
}

std::optional<int> as_int(const std::optional<std::int64_t>& value) {
  if (!value) return std::nullopt;
  return static_cast<int>(*value);
}

}  // namespace

CompletionRequest parse_completion_request(std::string_view body, const RequestContext& context) {
  const json document = parse_document(body);
  FieldReader fields(document, "");
  check_model(fields, context);
  CompletionRequest request;
  request.options = read_generation_options(fields, context);
  read_no_tools(fields);
  auto* ignored = request.options.unknown_fields(context.strict);
  const bool parse_special = fields.boolean("parse_special").value_or(true);
  request.prompts = read_prompts(fields.require("prompt"), {&context, parse_special, ignored});
  check_choices("n", request.prompts.size(), request.options.num_choices, context);
  request.echo = fields.boolean("echo").value_or(false);
  if (const auto top = fields.integer("logprobs", 0, kMaxTopLogprobs)) {
    request.options.logprobs = true;
    request.options.top_logprobs = static_cast<int>(*top);
  }
  request.options.max_tokens = as_int(fields.integer("max_tokens", 0, kMaxTokens));
  if (request.options.max_tokens == 0 && !request.echo) {
    fail_field("max_tokens", "must be at least 1 unless 'echo' is true");
  }
  fields.check_unread(request.options.unknown_fields(context.strict));
  return request;
}

ChatRequest parse_chat_request(std::string_view body, const RequestContext& context) {
  const json document = parse_document(body);
  FieldReader fields(document, "");
  check_model(fields, context);
  ChatRequest request;
  request.options = read_generation_options(fields, context);
  request.conversation =
      read_conversation(fields, context, request.options.unknown_fields(context.strict));
  request.options.logprobs = fields.boolean("logprobs").value_or(false);
  if (const auto top = fields.integer("top_logprobs", 0, kMaxTopLogprobs)) {
    if (!request.options.logprobs) fail_field("top_logprobs", "requires logprobs: true");
    request.options.top_logprobs = static_cast<int>(*top);
  }
  const auto old_limit = fields.integer("max_tokens", 1, kMaxTokens);
  const auto new_limit = fields.integer("max_completion_tokens", 1, kMaxTokens);
  if (old_limit && new_limit && *old_limit != *new_limit) {
    fail_field("max_tokens", "contradicts 'max_completion_tokens'; give one of them");
  }
  request.options.max_tokens = as_int(new_limit ? new_limit : old_limit);
  fields.check_unread(request.options.unknown_fields(context.strict));
  return request;
}

}  // namespace tandem::server::openai
