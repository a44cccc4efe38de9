// SPDX-License-Identifier: Apache-2.0
//
// The two shapes in which OpenAI's API reports log-probabilities.
//
// Chat: text, logprob, bytes and alternatives of each token. Completions: parallel arrays, with
// text_offset in code points from the start of the returned text. A token that is not whole UTF-8
// is written as "\xf0\x9f" (chat) or "bytes:\xf0\x9f" (completions), as OpenAI does. JSON has no
// -inf, so it becomes -9999.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/generation_service.h"

namespace tandem::server::openai {

// {"content": [{"token", "logprob", "bytes", "top_logprobs"}], "refusal": null}
nlohmann::ordered_json chat_logprobs(const std::vector<OutputToken>& tokens,
                                     const GenerationService& service);

// Accumulates {"tokens", "token_logprobs", "top_logprobs", "text_offset"} of one choice.
class CompletionLogprobs {
 public:
  CompletionLogprobs(const GenerationService& service, int num_top);

  // The echoed prompt: the first token has no log-probability, none has alternatives. `logprobs`
  // [tokens - 1]. `text`: the echo. A token that is not part of it, such as BOS, has width 0.
  void add_prompt(const std::vector<TokenId>& tokens, const std::vector<float>& logprobs,
                  std::string_view text);
  void add(const std::vector<OutputToken>& tokens);

  // The tokens that were added since the last call.
  nlohmann::ordered_json take();

 private:
  struct Row {
    std::string token;
    bool has_logprob = false;
    float logprob = 0;
    std::vector<TokenLogprob> top;
    std::size_t offset = 0;
  };
  const GenerationService* service_;
  int num_top_;
  std::size_t offset_ = 0;  // code points of the text so far
  std::vector<Row> rows_;
};

}  // namespace tandem::server::openai
