// SPDX-License-Identifier: Apache-2.0
//
// Rendering and encoding of conversations.
#include "model/chat/chat_prompt.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::model {
namespace {

// Whether a JSON text may hold the mark: as it is, or as an escape of its code point.
bool may_hold(std::string_view json, std::string_view mark, std::string_view escape) {
  if (json.find(mark) != std::string_view::npos) return true;
  const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
  return std::search(json.begin(), json.end(), escape.begin(), escape.end(), same) != json.end();
}

// The first of U+FDD0..U+FDEF (noncharacters for internal use) that nothing here contains.
std::string unused_mark(std::span<const ChatMessage> messages, const ChatInputs& inputs) {
  for (int last = 0xd0; last <= 0xef; ++last) {
    std::string mark = "\xef\xb7";
    mark += static_cast<char>(last - 0x40);
    constexpr char kDigits[] = "0123456789abcdef";
    const std::string escape = std::string("ufd") + kDigits[last >> 4] + kDigits[last & 15];
    const auto json_holds = [&](const std::string& json) { return may_hold(json, mark, escape); };
    const bool is_used = std::any_of(messages.begin(), messages.end(), [&](const auto& message) {
      return message.content.find(mark) != std::string::npos ||
             message.role.find(mark) != std::string::npos || json_holds(message.fields);
    });
    if (!is_used && !json_holds(inputs.tools) && !json_holds(inputs.documents) &&
        !json_holds(inputs.variables)) {
      return mark;
    }
  }
  throw Error("chat", "the messages hold every noncharacter U+FDD0..U+FDEF; leave one of them out");
}

}  // namespace

std::size_t ChatPrompt::text_bytes() const {
  std::size_t num_marks = 0;
  for (std::size_t at = text.find(mark); at != std::string::npos;
       at = text.find(mark, at + mark.size())) {
    ++num_marks;
  }
  return text.size() - num_marks * mark.size();
}

ChatPrompt render_chat(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                       std::span<const ChatMessage> messages, const ChatInputs& inputs) {
  const std::string mark = unused_mark(messages, inputs);
  const auto marked = [&](std::string_view text) { return tokenizer.mark_control(text, mark); };
  return {chat_template.render(messages, inputs, marked), mark};
}

std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const ChatPrompt& prompt,
                                 std::size_t max_tokens) {
  std::vector<TokenId> ids = tokenizer.encode(prompt.text, {.add_special = false,
                                                            .parse_special = true,
                                                            .ignored_mark = prompt.mark,
                                                            .max_tokens = max_tokens});
  // Templates disagree on whether they write BOS themselves; the model expects exactly one.
  const std::vector<TokenId> empty = tokenizer.encode("", {.add_special = true});
  const bool wants_bos = !empty.empty() && empty.front() == tokenizer.bos();
  if (wants_bos && (ids.empty() || ids.front() != tokenizer.bos())) {
    ids.insert(ids.begin(), tokenizer.bos());
  }
  return ids;
}

}  // namespace tandem::model
