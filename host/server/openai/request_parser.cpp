// SPDX-License-Identifier: Apache-2.0
//
// The fields that belong to one kind of request: prompt, echo, messages, and the two forms of
// logprobs and of the output limit.
#include "server/openai/request_parser.h"

#include <limits>

#include "server/openai/api_error.h"
#include "server/openai/field_reader.h"
#include "server/openai/generation_options.h"
#include "server/openai/json_document.h"

namespace tandem::server::openai {
namespace {

using nlohmann::json;

constexpr int kMaxTopLogprobs = 20;
constexpr std::int64_t kMaxTokens = std::numeric_limits<int>::max();

void check_model(FieldReader& fields, const RequestContext& context) {
  const std::string& model = string_value(fields.require("model"), "model");
  if (model == context.model_id) return;
  throw ApiError(
      404,
      "The model '" + model + "' does not exist here; this server has '" + context.model_id + "'",
      "model", "model_not_found");
}

std::string indexed(const std::string& name, std::size_t index) {
  return name + "[" + std::to_string(index) + "]";
}

std::vector<PromptInput> read_prompts(const json& prompt, const RequestContext& context) {
  std::vector<PromptInput> result;
  if (prompt.is_string()) {
    result.push_back({prompt.get<std::string>(), {}});
    return result;
  }
  if (!prompt.is_array() || prompt.empty()) {
    fail_field("prompt",
               "must be a string, or a non-empty array of strings, of token ids, or of arrays of "
               "token ids");
  }
  if (prompt.front().is_number()) {
    result.push_back({{}, read_token_ids(prompt, "prompt", context)});
    return result;
  }
  if (prompt.size() > static_cast<std::size_t>(context.limits.max_choices)) {
    fail_field("prompt",
               "must have at most " + std::to_string(context.limits.max_choices) + " prompts");
  }
  const bool texts = prompt.front().is_string();
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    const std::string path = indexed("prompt", i);
    if (texts) {
      result.push_back({string_value(prompt[i], path), {}});
    } else {
      result.push_back({{}, read_token_ids(prompt[i], path, context)});
      if (result.back().tokens.empty()) fail_field(path, "must not be empty");
    }
  }
  return result;
}

void check_total_choices(std::size_t num_prompts, const GenerationOptions& options,
                         const RequestLimits& limits) {
  if (num_prompts * static_cast<std::size_t>(options.num_choices) <=
      static_cast<std::size_t>(limits.max_choices)) {
    return;
  }
  fail_field("n",
             "times the number of prompts must be at most " + std::to_string(limits.max_choices));
}

// A text, or an array of {"type": "text", "text": ...} that are joined.
std::string read_content(const json& content, const std::string& path) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) fail_field(path, "must be a string or an array of text parts");
  std::string result;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::string part_path = indexed(path, i);
    FieldReader part(object_value(content[i], part_path), part_path + ".");
    const std::string& type = string_value(part.require("type"), part.path("type"));
    if (type != "text")
      fail_field(part.path("type"), "must be \"text\"; this server supports no other type");
    result += string_value(part.require("text"), part.path("text"));
    part.refuse_unread();
  }
  return result;
}

ChatMessage read_message(const json& value, const std::string& path) {
  FieldReader fields(object_value(value, path), path + ".");
  ChatMessage message;
  message.role = string_value(fields.require("role"), fields.path("role"));
  if (message.role == "developer") message.role = "system";
  if (message.role != "system" && message.role != "user" && message.role != "assistant" &&
      message.role != "tool") {
    fail_field(fields.path("role"), "must be system, developer, user, assistant or tool");
  }
  message.content = read_content(fields.require("content"), fields.path("content"));
  fields.find("name");  // no template here names its speakers
  if (message.role == "tool") fields.find("tool_call_id");
  for (const char* name : {"tool_calls", "annotations"}) {  // answers sent back carry them empty
    const json* list = fields.find(name);
    if (list != nullptr && !(list->is_array() && list->empty())) {
      fail_field(fields.path(name), "is not supported by this server");
    }
  }
  fields.refuse_unread();
  return message;
}

std::optional<int> as_int(const std::optional<std::int64_t>& value) {
  if (!value) return std::nullopt;
  return static_cast<int>(*value);
}

std::int64_t most_tokens(const RequestLimits& limits) {
  return limits.max_output_tokens > 0 ? limits.max_output_tokens : kMaxTokens;
}

}  // namespace

CompletionRequest parse_completion_request(std::string_view body, const RequestContext& context) {
  const json document = parse_document(body);
  FieldReader fields(document, "");
  check_model(fields, context);
  CompletionRequest request;
  request.options = read_generation_options(fields, context);
  request.prompts = read_prompts(fields.require("prompt"), context);
  check_total_choices(request.prompts.size(), request.options, context.limits);
  request.echo = fields.boolean("echo").value_or(false);
  if (const auto top = fields.integer("logprobs", 0, kMaxTopLogprobs)) {
    request.options.logprobs = true;
    request.options.top_logprobs = static_cast<int>(*top);
  }
  request.options.max_tokens = as_int(fields.integer("max_tokens", 0, most_tokens(context.limits)));
  if (request.options.max_tokens == 0 && !request.echo) {
    fail_field("max_tokens", "must be at least 1 unless 'echo' is true");
  }
  fields.refuse_unread();
  return request;
}

ChatRequest parse_chat_request(std::string_view body, const RequestContext& context) {
  const json document = parse_document(body);
  FieldReader fields(document, "");
  check_model(fields, context);
  ChatRequest request;
  request.options = read_generation_options(fields, context);
  const json& messages = fields.require("messages");
  if (!messages.is_array() || messages.empty()) {
    fail_field("messages", "must be a non-empty array of messages");
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    request.messages.push_back(read_message(messages[i], indexed("messages", i)));
  }
  request.options.logprobs = fields.boolean("logprobs").value_or(false);
  if (const auto top = fields.integer("top_logprobs", 0, kMaxTopLogprobs)) {
    if (!request.options.logprobs) fail_field("top_logprobs", "requires logprobs: true");
    request.options.top_logprobs = static_cast<int>(*top);
  }
  const std::int64_t most = most_tokens(context.limits);
  const auto old_limit = fields.integer("max_tokens", 1, most);
  const auto new_limit = fields.integer("max_completion_tokens", 1, most);
  if (old_limit && new_limit && *old_limit != *new_limit) {
    fail_field("max_tokens", "contradicts 'max_completion_tokens'; give one of them");
  }
  request.options.max_tokens = as_int(new_limit ? new_limit : old_limit);
  fields.refuse_unread();
  return request;
}

}  // namespace tandem::server::openai
