// SPDX-License-Identifier: Apache-2.0
//
// The two shapes in which OpenAI's API reports log-probabilities, written as JSON text token by
// token.
//
// Chat: text, logprob, bytes and alternatives of each token. Completions: parallel arrays, with
// text_offset in code points from the start of the returned text. A token that is not whole UTF-8
// is written as "\xf0\x9f" (chat) or "bytes:\xf0\x9f" (completions), as OpenAI does. JSON has no
// -inf, so it becomes -9999.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "server/generation_service.h"

namespace tandem::server::openai {

// {"content": [{"token", "logprob", "bytes", "top_logprobs"}], "refusal": null}
class ChatLogprobs {
 public:
  explicit ChatLogprobs(const GenerationService& service) : service_(&service) {}

  void add(const std::vector<OutputToken>& tokens);
  bool empty() const { return content_.empty(); }
  std::size_t bytes() const { return content_.size(); }

  // Appends the objects of the tokens that were added since the last call.
  void take(std::string& out);

 private:
  const GenerationService* service_;
  std::string content_;
};

// {"tokens", "token_logprobs", "top_logprobs", "text_offset"} of one choice.
class CompletionLogprobs {
 public:
  CompletionLogprobs(const GenerationService& service, int num_top);

  // Adds the echoed prompt with the scores of `event`, [tokens - 1]: the first token has none.
  // `text`: the echo. A token outside of it, such as BOS, has width 0. An
  // artificial leading space that the echo lacks is left out.
  void add_prompt(const std::vector<TokenId>& tokens, const GenerationEvent& event,
                  std::string_view text);
  void add(const std::vector<OutputToken>& tokens);
  std::size_t bytes() const;

  // The same as ChatLogprobs::take().
  void take(std::string& out);

 private:
  void begin_token(std::string_view bytes);
  void append_top(const OutputToken& token);

  const GenerationService* service_;
  int num_top_;
  std::size_t offset_ = 0;  // code points of the text so far
  std::string tokens_, logprobs_, tops_, offsets_;
};

}  // namespace tandem::server::openai
