// SPDX-License-Identifier: Apache-2.0
//
// A conversation -> the tokens a model is asked with: only the template may write control tokens.
//
// Text of control tokens inside messages ("</s>", "<|assistant|>") stays text: it is broken up by a
// mark, a noncharacter that occurs nowhere in the messages, before the template sees it; encoding
// drops the mark again. Templates may therefore trim, compare and cut contents as ever, but find no
// control token's text in them. User-defined tokens have no such power and are left alone.
// Threads: any. Errors: Error("chat", ...) from the template, or when no mark is left.
#pragma once

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
                       std::span<const ChatMessage> messages, bool add_generation_prompt);

// Begins with exactly one BOS where the model expects one, whether or not the template wrote it.
std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const ChatPrompt& prompt);

}  // namespace tandem::model
