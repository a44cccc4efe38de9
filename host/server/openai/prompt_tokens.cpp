// SPDX-License-Identifier: Apache-2.0
//
// A text whose length already shows that it cannot fit is refused before it is tokenised.
#include "server/openai/prompt_tokens.h"

#include <string>
#include <utility>

#include "common/error.h"
#include "server/openai/api_error.h"

namespace tandem::server::openai {
namespace {

[[noreturn]] void refuse_length(const std::string& prompt_tokens, int max_request_tokens,
                                const char* param) {
  throw ApiError(400,
                 "This model's context holds " + std::to_string(max_request_tokens) +
                     " tokens, of which at least one must be left for the output, but the "
                     "prompt has " +
                     prompt_tokens + " tokens; shorten it",
                 param, "context_length_exceeded");
}

template <typename Tokenize>
std::vector<TokenId> guarded(const Tokenize& tokenize, const GenerationService& service,
                             const char* param) {
  try {
    return tokenize();
  } catch (const PromptTooLong& error) {
    refuse_length("at least " + std::to_string(error.at_least_tokens), service.max_request_tokens(),
                  param);
  } catch (const ChatTemplateFault& fault) {  // another conversation, or a plain prompt, may work
    throw ApiError(422, text_for_client(fault), {}, "chat_template_unusable");
  } catch (const Error& error) {  // the tokenizer or the template refuses this text
    throw ApiError(400, text_for_client(error), param);
  }
}

}  // namespace

PromptTokens with_room(std::vector<TokenId> tokens, const GenerationService& service,
                       const char* param) {
  const int most = service.max_request_tokens();
  if (tokens.empty()) throw ApiError(400, "the prompt has no tokens", param);
  if (tokens.size() >= static_cast<std::size_t>(most)) {
    refuse_length(std::to_string(tokens.size()), most, param);
  }
  const int room = most - static_cast<int>(tokens.size());
  return {std::move(tokens), room};
}

std::vector<TokenId> tokens_of_text(const std::vector<TextPart>& parts,
                                    const GenerationService& service) {
  const auto most = static_cast<std::size_t>(service.max_request_tokens());
  const std::size_t longest = service.longest_token_bytes();
  std::size_t bytes = 0;
  for (const TextPart& part : parts) bytes += part.text.size();
  const std::size_t at_least = longest == 0 ? 0 : (bytes + longest - 1) / longest;
  const auto tokenize = [&] {
    if (at_least > most) throw PromptTooLong(at_least);
    return service.tokenize(parts,
                            {.add_special = true, .max_tokens = most + kTokensCountedBeyond});
  };
  return guarded(tokenize, service, "prompt");
}

std::vector<TokenId> tokens_of_chat(Conversation conversation, const GenerationService& service) {
  return guarded([&] { return service.tokenize_chat(std::move(conversation)); }, service,
                 "messages");
}

}  // namespace tandem::server::openai
