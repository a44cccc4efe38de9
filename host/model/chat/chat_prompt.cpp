// SPDX-License-Identifier: Apache-2.0
//
// Rendering and encoding of conversations.
#include "model/chat/chat_prompt.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::model {
namespace {

// The first of U+FDD0..U+FDEF (noncharacters for internal use) that no message contains.
std::string unused_mark(std::span<const ChatMessage> messages) {
  for (int last = 0x90; last <= 0xaf; ++last) {
    std::string mark = "\xef\xb7";
    mark += static_cast<char>(last);
    const bool is_used = std::any_of(messages.begin(), messages.end(), [&](const auto& message) {
      return message.content.find(mark) != std::string::npos ||
             message.role.find(mark) != std::string::npos;
    });
    if (!is_used) return mark;
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
                       std::span<const ChatMessage> messages, bool add_generation_prompt) {
  const std::string mark = unused_mark(messages);
  std::vector<ChatMessage> marked;
  for (const ChatMessage& message : messages) {
    marked.push_back({tokenizer.mark_control(message.role, mark),
                      tokenizer.mark_control(message.content, mark)});
  }
  return {chat_template.render(marked, add_generation_prompt), mark};
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
