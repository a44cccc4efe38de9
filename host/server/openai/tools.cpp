// SPDX-License-Identifier: Apache-2.0
//
// Bytes are counted before arguments are parsed, so a parsed form stays within the same bound.
#include "server/openai/tools.h"

#include <algorithm>

#include "server/openai/api_error.h"
#include "server/openai/json_document.h"

namespace tandem::server::openai {
namespace {

using json = nlohmann::ordered_json;

// {"type": "function", "function": {"name": ..., ...}}: the function.
FieldReader function_of(const json& value, const std::string& path) {
  FieldReader fields(object_value(value, path), path + ".");
  const std::string& type = string_value(fields.require("type"), fields.path("type"));
  if (type != "function") {
    fail_field(fields.path("type"), "must be \"function\"; this server supports no other type");
  }
  const std::string function = fields.path("function");
  return {object_value(fields.require("function"), function), function + "."};
}

std::string function_name(FieldReader& function, const ChatReading& reading) {
  return name_value(function.require("name"), function.path("name"), reading);
}

void check_tool(const json& tool, const std::string& path, const ChatReading& reading) {
  FieldReader function = function_of(tool, path);
  function_name(function, reading);
  if (const json* text = function.find("description")) {
    string_value(*text, function.path("description"));
  }
  if (const json* schema = function.find("parameters")) {
    object_value(*schema, function.path("parameters"));
  }
}

// Whether the model shall see the tools.
bool wants_tools(FieldReader& fields, const ChatReading& reading) {
  const json* choice = fields.find("tool_choice");
  if (choice == nullptr || *choice == json("auto")) return true;
  if (*choice == json("none")) return false;
  if (choice->is_object()) {
    FieldReader function = function_of(*choice, "tool_choice");
    function_name(function, reading);
  } else if (*choice != json("required")) {
    fail_field("tool_choice",
               "must be \"none\", \"auto\", \"required\" or an object that names a function");
  }
  ignore_field("tool_choice",
               "asks for a call, which this server cannot enforce; use \"auto\" or \"none\"",
               reading.ignored);
  return true;
}

// Templates iterate over arguments, so a text that is a JSON object becomes that object.
json arguments_of(const json& arguments, const std::string& path) {
  if (arguments.is_object()) return arguments;
  const std::string& text = string_value(arguments, path);
  if (text.empty()) return json::object();
  try {
    return parse_document(text);
  } catch (const ApiError&) {
    fail_field(path, "must be the text of a JSON object");
  }
}

}  // namespace

void ChatReading::take(std::size_t bytes, const std::string& path) {
  template_bytes += bytes;
  const std::size_t most = context.limits.max_template_bytes;
  if (template_bytes <= most) return;
  fail_field(path, "brings the tools, calls and template variables of this request to " +
                       std::to_string(template_bytes) + " bytes of JSON; this server takes " +
                       std::to_string(most));
}

const std::string& name_value(const json& value, const std::string& path,
                              const ChatReading& reading) {
  const std::string& name = string_value(value, path);
  const auto most = static_cast<std::size_t>(reading.context.limits.max_name_bytes);
  if (!name.empty() && name.size() <= most) return name;
  fail_field(path, "must have 1 to " + std::to_string(most) + " bytes, got " +
                       std::to_string(name.size()));
}

std::string read_tools(FieldReader& fields, ChatReading& reading) {
  const json* tools = fields.find("tools");
  const bool wanted = wants_tools(fields, reading);
  if (tools == nullptr) return {};
  if (!tools->is_array()) fail_field("tools", "must be an array of tools");
  check_count("tools", "tools", tools->size(), reading.context.limits.max_tools);
  for (std::size_t i = 0; i < tools->size(); ++i) {
    check_tool((*tools)[i], indexed("tools", i), reading);
  }
  std::string text = tools->dump();
  reading.take(text.size(), "tools");
  if (tools->empty() || !wanted) return {};
  if (reading.reads("tools")) return text;
  ignore_field("tools", "is not read by this model's chat template; leave it out", reading.ignored);
  return {};
}

json read_tool_calls(const json& calls, const std::string& path, ChatReading& reading) {
  if (!calls.is_array()) fail_field(path, "must be an array of calls");
  check_count(path, "calls", calls.size(), reading.context.limits.max_tools);
  reading.take(calls.dump().size(), path);
  json result = calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string call_path = indexed(path, i);
    FieldReader function = function_of(calls[i], call_path);
    function_name(function, reading);
    if (const auto id = calls[i].find("id"); id != calls[i].end() && !id->is_null()) {
      name_value(*id, call_path + ".id", reading);
    }
    result[i]["function"]["arguments"] =
        arguments_of(function.require("arguments"), function.path("arguments"));
  }
  return result;
}

}  // namespace tandem::server::openai
