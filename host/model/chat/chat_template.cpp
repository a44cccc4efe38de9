// SPDX-License-Identifier: Apache-2.0
#include "model/chat/chat_template.h"

#include "common/error.h"

namespace tandem::model {

struct ChatTemplate::Impl {
  std::string source;
};

ChatTemplate::ChatTemplate(const std::string&, std::string, std::string) {
  throw Error("chat", "templates cannot be read yet");
}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
std::string ChatTemplate::render(std::span<const ChatMessage>, bool) const { return {}; }
const std::string& ChatTemplate::source() const { return impl_->source; }

}  // namespace tandem::model
