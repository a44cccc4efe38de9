// SPDX-License-Identifier: Apache-2.0
//
// The tools that a chat describes, and the tool calls in its messages.
//
// Tools and calls are passed to the chat template unchanged and in order; only the arguments of a
// call become an object, because templates expect one. Nothing enforces a call: the model writes
// text. Errors: ApiError 400 naming the field. Threads: one.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/openai/field_reader.h"
#include "server/openai/request_parser.h"

namespace tandem::server::openai {

// The state of reading one chat: limits, ignored fields and the bytes for the template.
struct ChatReading {
  const RequestContext& context;
  std::vector<std::string>* ignored;  // borrowed; see GenerationOptions::unknown_fields()
  std::size_t template_bytes = 0;     // bytes of JSON so far; at most max_template_bytes

  // Whether the chat template uses the variable `name`.
  bool reads(std::string_view name) const {
    return !context.template_reads || context.template_reads(name);
  }
  // Adds `bytes` to template_bytes. Throws ApiError 400 naming `path` if the sum exceeds the limit.
  void take(std::size_t bytes, const std::string& path);
};

// Returns the name in `value`: a string of 1 to max_name_bytes bytes.
const std::string& name_value(const nlohmann::ordered_json& value, const std::string& path,
                              const ChatReading& reading);

// Returns "tools" as JSON text. Empty if there are none, if "tool_choice" is "none", or if the chat
// template does not use them.
std::string read_tools(FieldReader& fields, ChatReading& reading);

// Reads the tool calls of a message: an array.
nlohmann::ordered_json read_tool_calls(const nlohmann::ordered_json& calls, const std::string& path,
                                       ChatReading& reading);

}  // namespace tandem::server::openai
