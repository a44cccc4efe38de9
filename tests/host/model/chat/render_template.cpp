// SPDX-License-Identifier: Apache-2.0
//
// Renders chat templates for an oracle in another language.
//
// Reads lines of JSON {"template", "bos", "eos", "messages": [{"role", "content"}],
// "add_generation_prompt"} from stdin; answers each with a line {"text"} or {"error"}.
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "model/chat/chat_template.h"

int main() {
  using tandem::model::ChatMessage;
  for (std::string line; std::getline(std::cin, line);) {
    const auto job = nlohmann::json::parse(line);
    std::vector<ChatMessage> messages;
    for (const auto& message : job["messages"]) {
      messages.push_back({message["role"], message["content"]});
    }
    nlohmann::json answer;
    try {
      const tandem::model::ChatTemplate chat_template(job["template"], job["bos"], job["eos"]);
      answer["text"] = chat_template.render(messages, job["add_generation_prompt"]);
    } catch (const tandem::Error& error) {
      answer["error"] = error.what();
    }
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}
