// SPDX-License-Identifier: Apache-2.0
//
// Chat templates: the variables Hugging Face's apply_chat_template offers, and the interpreter.
#include "model/chat/chat_template.h"

#include "common/error.h"
#include "model/chat/jinja/evaluator.h"
#include "model/chat/jinja/parser.h"

namespace tandem::model {
namespace {

constexpr std::size_t kMaxSource = std::size_t{1} << 20;

}  // namespace

struct ChatTemplate::Impl {
  std::string source, bos, eos;
  std::vector<jinja::Statement> program;
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
  } catch (const jinja::Failure& failure) {
    throw Error("chat", std::string("template: ") + failure.what());
  }
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;

std::string ChatTemplate::render(std::span<const ChatMessage> messages,
                                 bool add_generation_prompt) const {
  using jinja::Value;
  jinja::List list;
  try {
    for (const ChatMessage& message : messages) {
      list.push_back(Value::map(
          {{"role", Value::string(message.role)}, {"content", Value::string(message.content)}}));
    }
    return jinja::Evaluator({{"messages", Value::list(std::move(list))},
                             {"add_generation_prompt", Value::boolean(add_generation_prompt)},
                             {"bos_token", Value::string(impl_->bos)},
                             {"eos_token", Value::string(impl_->eos)},
                             {"tools", Value::none()},
                             {"documents", Value::none()}})
        .run(impl_->program);
  } catch (const jinja::Failure& failure) {
    throw Error("chat", std::string("messages: ") + failure.what());
  }
}

const std::string& ChatTemplate::source() const { return impl_->source; }

}  // namespace tandem::model
