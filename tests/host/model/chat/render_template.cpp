// SPDX-License-Identifier: Apache-2.0
//
// Renders chat templates for an oracle in another language.
//
// Reads lines of JSON {"template", "bos", "eos", "messages", "tools", "variables",
// "add_generation_prompt"} from stdin; answers each with a line {"text"} or {"error", "in"}, where
// "in" is "parse" or "render".
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "model/chat/chat_template.h"

namespace {

using nlohmann::ordered_json;
using tandem::model::ChatMessage;

ChatMessage message_of(ordered_json json) {
  ChatMessage message{json.at("role"), {}};
  json.erase("role");
  if (json.contains("content") && json["content"].is_string()) {
    message.content = json["content"];
    json.erase("content");
  }
  if (!json.empty()) message.fields = json.dump();
  return message;
}

ordered_json answer_of(const ordered_json& job) {
  std::vector<ChatMessage> messages;
  for (const auto& message : job.at("messages")) messages.push_back(message_of(message));
  const auto json_text = [&](const char* key) {
    return job.contains(key) && !job[key].is_null() ? job[key].dump() : std::string();
  };
  const char* phase = "parse";
  try {
    const tandem::model::ChatTemplate chat_template(job.at("template"), job.at("bos"),
                                                    job.at("eos"));
    phase = "render";
    return {{"text",
             chat_template.render(messages, {.add_generation_prompt = job["add_generation_prompt"],
                                             .tools = json_text("tools"),
                                             .variables = json_text("variables")})}};
  } catch (const tandem::Error& error) {
    return {{"error", error.what()}, {"in", phase}};
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << answer_of(ordered_json::parse(line))
                     .dump(-1, ' ', false, ordered_json::error_handler_t::replace)
              << std::endl;
  }
  return 0;
}
