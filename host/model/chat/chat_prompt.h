// SPDX-License-Identifier: Apache-2.0
//
// Renders a conversation and encodes it as the tokens of the prompt. Only the template can write
// control tokens.
//
// The text of a control token ("</s>", "<|assistant|>") inside a message or a tool stays ordinary
// text. To achieve this, a mark (a Unicode noncharacter that no message contains) is inserted into
// it before the template runs, and encoding removes the mark. Templates can trim, compare and cut
// messages as usual. User-defined tokens do not control the model, so they are not marked. Threads:
// any. Errors: Error("chat", ...) of the template, or if every mark is in use.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "model/chat/chat_template.h"
#include "model/tokenizer/tokenizer.h"

namespace tandem::model {

struct ChatPrompt {
  std::string text;  // as rendered, with marks
  std::string mark;

  std::size_t text_bytes() const;  // without marks
};

ChatPrompt render_chat(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                       std::span<const ChatMessage> messages, const ChatInputs& inputs = {});

// The result begins with exactly one BOS if the model expects one, also if the template has written
// it. `max_tokens`: as EncodeOptions::max_tokens.
std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const ChatPrompt& prompt,
                                 std::size_t max_tokens = std::numeric_limits<std::size_t>::max());

}  // namespace tandem::model
