// SPDX-License-Identifier: Apache-2.0
//
// Reads the bodies of /v1/completions and /v1/chat/completions strictly.
//
// A field of the wrong type or out of range is an ApiError 400 that names it. Known besides
// OpenAI's fields: top_k, min_p, repetition_penalty, ignore_eos, stop_token_ids. Fields that cannot
// change the output (user, metadata, store, ...) are ignored. Some fields are accepted only with
// their neutral value (tools: [], best_of: 1, response_format: {"type": "text"}, ...). All others
// are refused, misspelt ones too. Threads: any; pure. Source: OpenAI's API reference.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/generation_service.h"

namespace tandem::server::openai {

struct RequestLimits {
  int max_choices = 64;       // prompts x n of one request
  int max_output_tokens = 0;  // "max_tokens" of one choice; 0: what the context allows
  int max_stop_texts = 16;
  int max_stop_bytes = 1024;  // of one stop text
};

// The server's facts that a request is checked against.
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
