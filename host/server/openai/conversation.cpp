// SPDX-License-Identifier: Apache-2.0
//
// The further fields of a message are passed on as JSON text, because only the template knows their
// meaning.
#include "server/openai/conversation.h"

#include <algorithm>
#include <array>

#include "server/openai/tools.h"

namespace tandem::server::openai {
namespace {

using json = nlohmann::ordered_json;

// Set by the server; a variable must not replace them.
constexpr std::array<std::string_view, 5> kOwnNames = {"messages", "tools", "add_generation_prompt",
                                                       "bos_token", "eos_token"};
constexpr std::array<std::string_view, 7> kEfforts = {"none", "minimal", "low", "medium",
                                                      "high", "xhigh",   "max"};

// A text, or an array of {"type": "text", "text": ...} that are joined.
std::string read_content(const json& content, const std::string& path,
                         std::vector<std::string>* ignored) {
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
    part.check_unread(ignored);
  }
  return result;
}

// A list, or null if it is empty, as in answers that clients send back.
const json* filled_list(FieldReader& fields, const char* name) {
  const json* list = fields.find(name);
  return list == nullptr || (list->is_array() && list->empty()) ? nullptr : list;
}

// What a message has besides role and content.
json read_further_fields(FieldReader& fields, const std::string& role, ChatReading& reading) {
  json further = json::object();
  const auto read_name = [&](const char* name) {
    if (const json* value = fields.find(name)) {
      further[name] = name_value(*value, fields.path(name), reading);
    }
  };
  read_name("name");
  if (role == "tool") read_name("tool_call_id");
  if (filled_list(fields, "annotations") != nullptr) {
    fail_field(fields.path("annotations"), "is not supported by this server");
  }
  const json* calls = filled_list(fields, "tool_calls");
  if (calls == nullptr) return further;
  const std::string path = fields.path("tool_calls");
  if (role != "assistant") fail_field(path, "is allowed only in messages of the assistant");
  further["tool_calls"] = read_tool_calls(*calls, path, reading);
  if (!reading.reads("tool_calls")) {
    ignore_field(path, "is not read by this model's chat template; leave it out", reading.ignored);
  }
  return further;
}

ChatMessage read_message(const json& value, const std::string& path, ChatReading& reading) {
  FieldReader fields(object_value(value, path), path + ".");
  ChatMessage message;
  message.role = string_value(fields.require("role"), fields.path("role"));
  if (message.role == "developer") message.role = "system";
  if (message.role != "system" && message.role != "user" && message.role != "assistant" &&
      message.role != "tool") {
    fail_field(fields.path("role"), "must be system, developer, user, assistant or tool");
  }
  json further = read_further_fields(fields, message.role, reading);
  if (fields.find("content") == nullptr && further.contains("tool_calls")) {
    further["content"] = nullptr;  // calls stand instead of a text
  } else {
    message.content =
        read_content(fields.require("content"), fields.path("content"), reading.ignored);
  }
  fields.check_unread(reading.ignored);
  if (!further.empty()) message.fields = further.dump();
  return message;
}

std::vector<ChatMessage> read_messages(FieldReader& fields, ChatReading& reading) {
  const json& messages = fields.require("messages");
  if (!messages.is_array() || messages.empty()) {
    fail_field("messages", "must be a non-empty array of messages");
  }
  std::vector<ChatMessage> result;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    result.push_back(read_message(messages[i], indexed("messages", i), reading));
  }
  return result;
}

void read_template_kwargs(FieldReader& fields, ChatReading& reading, json& variables) {
  const std::string field = "chat_template_kwargs";
  const json* kwargs = fields.find(field);
  if (kwargs == nullptr) return;
  object_value(*kwargs, field);
  check_count(field, "variables", kwargs->size(), reading.context.limits.max_variables);
  reading.take(kwargs->dump().size(), field);
  for (const auto& [name, value] : kwargs->items()) {
    const std::string path = field + "." + name;
    if (std::ranges::find(kOwnNames, name) != kOwnNames.end()) {
      fail_field(path, "is set by the server; leave it out");
    }
    if (reading.reads(name)) {
      variables[name] = value;
    } else {
      ignore_field(path, {}, reading.ignored);
    }
  }
}

// Some templates read the effort itself, others only a switch for thinking. A value in
// chat_template_kwargs takes precedence.
void read_effort(FieldReader& fields, ChatReading& reading, json& variables) {
  const json* value = fields.find("reasoning_effort");
  if (value == nullptr) return;
  const std::string& effort = string_value(*value, "reasoning_effort");
  if (std::ranges::find(kEfforts, effort) == kEfforts.end()) {
    fail_field("reasoning_effort", "must be none, minimal, low, medium, high, xhigh or max");
  }
  bool is_read = false;
  const auto offer = [&](const char* name, const json& mapped) {
    if (!reading.reads(name)) return;
    is_read = true;
    if (!variables.contains(name)) variables[name] = mapped;
  };
  offer("reasoning_effort", effort);
  offer("enable_thinking", effort != "none");
  offer("thinking", effort != "none");
  if (!is_read) ignore_field("reasoning_effort", {}, reading.ignored);
}

// A strict server leaves both fields unread, so they are refused.
std::string read_variables(FieldReader& fields, ChatReading& reading) {
  json variables = json::object();
  if (reading.ignored == nullptr) return {};
  read_template_kwargs(fields, reading, variables);
  read_effort(fields, reading, variables);
  return variables.empty() ? std::string() : variables.dump();
}

}  // namespace

Conversation read_conversation(FieldReader& fields, const RequestContext& context,
                               std::vector<std::string>* ignored) {
  ChatReading reading{context, ignored};
  Conversation conversation;
  conversation.messages = read_messages(fields, reading);
  conversation.tools = read_tools(fields, reading);
  conversation.variables = read_variables(fields, reading);
  return conversation;
}

}  // namespace tandem::server::openai
