// SPDX-License-Identifier: Apache-2.0
//
// ChatTemplate: renders a conversation with the Jinja template of a model file.
//
// The language is the part of Jinja that GGUF files use: expressions, for, if, set, macros, and
// their filters and tests. Anything else is an Error of the constructor or of render() that names
// the construct and its line. Templates are untrusted input, so rendering has limits of output and
// steps. Threads: const calls from any thread.
#pragma once

#include <memory>
#include <span>
#include <string>

namespace tandem::model {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", "tool"
  std::string content;
};

class ChatTemplate {
 public:
  // bos and eos: the texts of those tokens; empty: the model has none.
  ChatTemplate(const std::string& source, std::string bos, std::string eos);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;

  // The prompt with control tokens as text. Encode it with parse_special, and without add_special
  // if it begins with BOS. Throws Error("chat", ...) with the template's own message when the
  // template calls raise_exception.
  std::string render(std::span<const ChatMessage> messages, bool add_generation_prompt) const;

  const std::string& source() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::model
