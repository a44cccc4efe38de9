// SPDX-License-Identifier: Apache-2.0
//
// Tokenises texts of clients, within limits. Threads: any.
//
// Errors: ApiError 400: context_length_exceeded with both lengths, or a text that cannot be
// tokenised. Tokenising stops when the limit is exceeded.
#pragma once

#include <cstddef>
#include <vector>

#include "server/generation_service.h"

namespace tandem::server::openai {

struct PromptTokens {
  std::vector<TokenId> tokens;
  int room = 0;  // number of tokens that may follow
};

// `param`: the field that errors name.
PromptTokens with_room(std::vector<TokenId> tokens, const GenerationService& service,
                       const char* param);
std::vector<TokenId> tokens_of_text(const std::vector<TextPart>& parts,
                                    const GenerationService& service);
std::vector<TokenId> tokens_of_chat(Conversation conversation, const GenerationService& service);

}  // namespace tandem::server::openai
