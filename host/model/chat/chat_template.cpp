// SPDX-License-Identifier: Apache-2.0
//
// Chat templates: the variables Hugging Face's apply_chat_template offers, and the interpreter.
#include "model/chat/chat_template.h"

#include <algorithm>
#include <set>

#include "common/error.h"
#include "model/chat/jinja/evaluator.h"
#include "model/chat/jinja/json_value.h"
#include "model/chat/jinja/lexer.h"
#include "model/chat/jinja/parser.h"

namespace tandem::model {
namespace {

constexpr std::size_t kMaxSource = std::size_t{1} << 20;

// The entries of the object `more` are added to `entries`, or replace those of their names.
void merge(jinja::Entries& entries, const jinja::Value& more) {
  for (const auto& [name, value] : more.entries()) {
    const auto same = std::ranges::find(entries, name, &jinja::Entries::value_type::first);
    if (same != entries.end()) {
      same->second = value;
    } else {
      entries.emplace_back(name, value);
    }
  }
}

jinja::Value message_value(const ChatMessage& message, const jinja::TextFilter& filter) {
  const auto text = [&](const std::string& raw) {
    return jinja::Value::string(filter ? filter(raw) : raw);
  };
  jinja::Entries entries = {{"role", text(message.role)}, {"content", text(message.content)}};
  if (!message.fields.empty()) {
    merge(entries, jinja::value_of_json(message.fields, "the fields of a message", filter));
  }
  return jinja::Value::map(std::move(entries));
}

jinja::Value optional_json(const std::string& json, const char* name,
                           const jinja::TextFilter& filter) {
  return json.empty() ? jinja::Value::none() : jinja::value_of_json(json, name, filter);
}

// The variables that Hugging Face offers, without the texts of tokens.
jinja::Entries globals_of(std::span<const ChatMessage> messages, const ChatInputs& inputs,
                          const jinja::TextFilter& filter) {
  using jinja::Value;
  jinja::List list;
  for (const ChatMessage& message : messages) list.push_back(message_value(message, filter));
  jinja::Entries globals = {{"messages", Value::list(std::move(list))},
                            {"add_generation_prompt", Value::boolean(inputs.add_generation_prompt)},
                            {"tools", optional_json(inputs.tools, "tools", filter)},
                            {"documents", optional_json(inputs.documents, "documents", filter)}};
  if (!inputs.variables.empty()) {
    merge(globals, jinja::value_of_json(inputs.variables, "variables", filter));
  }
  return globals;
}

}  // namespace

struct ChatTemplate::Impl {
  std::string source, bos, eos;
  std::vector<jinja::Statement> program;
  std::set<std::string, std::less<>> names;
};

ChatTemplate::ChatTemplate(const std::string& source, std::string bos, std::string eos)
    : impl_(std::make_unique<Impl>()) {
  if (source.size() > kMaxSource) {
    throw Error("chat", "the template is longer than " + std::to_string(kMaxSource) + " bytes");
  }
  impl_->source = source;
  impl_->bos = std::move(bos);
  impl_->eos = std::move(eos);
  try {
    impl_->program = jinja::parse(source);
    for (jinja::Token& token : jinja::tokenize(source)) {
      const bool names =
          token.type == jinja::TokenType::kName || token.type == jinja::TokenType::kString;
      if (names) impl_->names.insert(std::move(token.text));
    }
  } catch (const jinja::Failure& failure) {
    throw ChatTemplateError("chat", failure.what());
  }
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;

std::string ChatTemplate::render(std::span<const ChatMessage> messages, const ChatInputs& inputs,
                                 const TextFilter& filter) const {
  jinja::Entries globals;
  try {
    globals = {{"bos_token", jinja::Value::string(impl_->bos)},
               {"eos_token", jinja::Value::string(impl_->eos)}};
    for (auto& entry : globals_of(messages, inputs, filter)) globals.push_back(std::move(entry));
  } catch (const jinja::Failure& failure) {
    throw Error("chat", std::string("messages: ") + failure.what());
  }
  try {
    return jinja::Evaluator(std::move(globals)).run(impl_->program);
  } catch (const jinja::Failure& failure) {
    throw ChatTemplateError("chat", failure.what());
  }
}

const std::string& ChatTemplate::source() const { return impl_->source; }

bool ChatTemplate::reads(std::string_view name) const { return impl_->names.contains(name); }

}  // namespace tandem::model
