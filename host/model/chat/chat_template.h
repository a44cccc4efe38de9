// SPDX-License-Identifier: Apache-2.0
//
// ChatTemplate: renders a conversation with the Jinja template of a model file.
//
// The language is Jinja2's, with the settings, filters and globals of Hugging Face's
// apply_chat_template. Statements that need other template files (include, import, extends) are
// errors when they are reached. Templates are untrusted: steps, depth and output are
// bounded. Threads: const calls from any thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/error.h"

namespace tandem::model {

// The template is wrong, not the conversation: it does not parse, it does something that Jinja2
// forbids, or it exceeds a limit. The text names line and column.
class ChatTemplateError : public Error {
 public:
  using Error::Error;
};

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", "tool"
  std::string content;
  // The other fields of the message (tool_calls, tool_call_id, name) as a JSON object. A "content"
  // in it (null, or an array of parts) replaces the text above. Empty: no other fields.
  std::string fields = {};
};

// The inputs of the template besides the messages. The texts are JSON; empty: none.
struct ChatInputs {
  bool add_generation_prompt = true;
  std::string tools = {};      // an array
  std::string documents = {};  // an array
  std::string variables = {};  // an object of further names, such as enable_thinking
};

class ChatTemplate {
 public:
  // bos and eos: the texts of those tokens; empty: the model has none. ChatTemplateError when the
  // source does not parse.
  ChatTemplate(const std::string& source, std::string bos, std::string eos);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;

  // The prompt with control tokens as text. Encode it with parse_special, and without add_special
  // if it begins with BOS. `filter` is applied to every text of messages and inputs before the
  // template gets it. Throws Error("chat", ...) with the template's own message if the template
  // calls raise_exception, and ChatTemplateError if the template itself fails.
  using TextFilter = std::function<std::string(std::string_view text)>;
  std::string render(std::span<const ChatMessage> messages, const ChatInputs& inputs,
                     const TextFilter& filter = {}) const;

  const std::string& source() const;

  // Whether the program names this variable or field, by itself or as a string ('tools' in x). Text
  // that is only printed does not count.
  bool reads(std::string_view name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::model
