// SPDX-License-Identifier: Apache-2.0
//
// ChatTemplate: renders a conversation with the Jinja template of a model file.
//
// The template language is the subset found in GGUF files (expressions, for, if, set, macros,
// filters and tests they use); anything else is an Error at construction or rendering that names
// the construct and its line. Threads: const calls from any thread. Rendering is bounded in output
// size and steps: templates are untrusted input.
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
  // bos and eos are the texts of those tokens (empty where there is none).
  ChatTemplate(const std::string& source, std::string bos, std::string eos);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;

  // The prompt, control tokens as text: encode with parse_special and without add_special when it
  // begins with BOS. Throws Error("chat", ...) with the template's own message when it calls
  // raise_exception.
  std::string render(std::span<const ChatMessage> messages, bool add_generation_prompt) const;

  const std::string& source() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::model
