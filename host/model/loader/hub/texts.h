// SPDX-License-Identifier: Apache-2.0
//
// HubTexts: the text files next to the weights in a published directory.
//
// Threads: plain data. Errors: Error("model", ...) naming a file that cannot be read or is too
// long.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tandem::model {

inline constexpr std::size_t kMaxTokenizerBytes = std::size_t{256} << 20;

struct HubTexts {
  std::string directory;  // for messages
  // Empty: there is no such file.
  std::optional<std::string> config, generation_config, tokenizer, tokenizer_config;
  std::optional<std::string> chat_template_jinja, chat_template_json;
};

HubTexts read_hub_texts(const std::string& directory);

// The chat template: chat_template.jinja, otherwise that of tokenizer_config.json (of several the
// one named "default"), otherwise of chat_template.json. Error if it is not a text.
std::optional<std::string> hub_chat_template(const HubTexts& texts);

}  // namespace tandem::model
