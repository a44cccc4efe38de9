// SPDX-License-Identifier: Apache-2.0
//
// Text files of a directory.
#include "model/loader/hub/texts.h"

#include <filesystem>

#include "common/error.h"
#include "model/loader/bounded_json.h"
#include "model/loader/read_text.h"

namespace tandem::model {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxJsonBytes = JsonLimits{}.bytes, kMaxTemplateBytes = std::size_t{1} << 20;

std::optional<std::string> read_if_there(const std::filesystem::path& path,
                                         std::size_t max_bytes = kMaxJsonBytes) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  return read_text(path.string(), max_bytes);
}

// The template among a file's fields.
std::optional<std::string> template_in(const std::string& text, const std::string& file) {
  const json root = parse_json(text, file);
  const auto fail = [&](const char* what) {
    throw Error("safetensors", file + ": field 'chat_template': " + what);
  };
  const json* source = &json_member(root, "chat_template");
  if (source->is_null()) return {};
  if (source->is_array()) {
    const json* chosen = nullptr;
    for (const json& named : *source) {
      if (chosen == nullptr || json_member(named, "name") == "default") {
        chosen = &json_member(named, "template");
      }
    }
    if (chosen == nullptr) return {};
    source = chosen;
  }
  if (!source->is_string()) fail("must be a text, or a list of named ones");
  return source->get<std::string>();
}

}  // namespace

HubTexts read_hub_texts(const std::string& directory) {
  const std::filesystem::path folder(directory);
  return {.directory = directory,
          .config = read_if_there(folder / "config.json"),
          .generation_config = read_if_there(folder / "generation_config.json"),
          .tokenizer = read_if_there(folder / "tokenizer.json", kMaxTokenizerBytes),
          .tokenizer_config = read_if_there(folder / "tokenizer_config.json"),
          .chat_template_jinja = read_if_there(folder / "chat_template.jinja", kMaxTemplateBytes),
          .chat_template_json = read_if_there(folder / "chat_template.json")};
}

std::optional<std::string> hub_chat_template(const HubTexts& texts) {
  if (texts.chat_template_jinja) return texts.chat_template_jinja;
  for (const auto& [text, name] : {std::pair{&texts.tokenizer_config, "/tokenizer_config.json"},
                                   std::pair{&texts.chat_template_json, "/chat_template.json"}}) {
    if (!*text) continue;
    auto found = template_in(**text, texts.directory + name);
    if (found) return found;
  }
  return {};
}

}  // namespace tandem::model
