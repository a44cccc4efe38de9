// SPDX-License-Identifier: Apache-2.0
//
// The bodies of /v1/completions and /v1/chat/completions, read strictly.
//
// Every field is of the right type and in range or the request is an ApiError 400 naming it.
// Besides OpenAI's fields these are known: top_k, min_p, repetition_penalty, ignore_eos,
// stop_token_ids. Fields that cannot change the output (user, metadata, store, ...) are ignored;
// fields whose neutral value asks for what is done anyway (tools: [], best_of: 1,
// response_format: {"type": "text"}, ...) are accepted with that value; all others, misspelt ones
// included, are refused. Threads: any; pure. Source: OpenAI's API reference.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/generation_service.h"

namespace tandem::server::openai {

struct RequestLimits {
  int max_choices = 64;  // prompts x n of one request
  int max_stop_texts = 16;
  int max_stop_bytes = 1024;  // of one stop text
};

// What the request is checked against.
struct RequestContext {
  std::string model_id;
  int vocab_size = 0;
  RequestLimits limits;
};

struct GenerationOptions {
  Sampling sampling;
  std::optional<int> max_tokens;
  int num_choices = 1;  // "n"
  std::vector<std::string> stop;
  std::vector<TokenId> stop_tokens;
  bool ignore_eos = false;
  bool stream = false;
  bool include_usage = false;
  bool logprobs = false;
  int top_logprobs = 0;
};

struct PromptInput {
  std::string text;             // when given as text
  std::vector<TokenId> tokens;  // when given as token ids (then not empty)
};

struct CompletionRequest {
  GenerationOptions options;
  std::vector<PromptInput> prompts;  // at least one
  bool echo = false;
};

struct ChatRequest {
  GenerationOptions options;
  std::vector<ChatMessage> messages;  // at least one
};

// Throw ApiError: 400, or 404 (model_not_found) for another model's name.
CompletionRequest parse_completion_request(std::string_view body, const RequestContext& context);
ChatRequest parse_chat_request(std::string_view body, const RequestContext& context);

}  // namespace tandem::server::openai
