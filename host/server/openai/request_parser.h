// SPDX-License-Identifier: Apache-2.0
//
// Reads the bodies of /v1/completions and /v1/chat/completions.
//
// A field of the wrong type or out of range is an ApiError 400 that names it. Known besides
// OpenAI's fields: top_k, min_p, repetition_penalty, ignore_eos, stop_token_ids, parse_special.
// Fields that cannot change the output (user, metadata, store, ...) are ignored. Some fields are
// accepted only with their neutral value (tools: [], best_of: 1, ...). Fields of common clients are
// ignored and listed, unless the context is strict. All others are refused. Threads: any; pure.
// Source: OpenAI's reference.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/generation_service.h"

namespace tandem::server::openai {

struct RequestLimits {
  int max_choices = 64;  // prompts x n of one request
  int max_tokens = 0;    // that all choices of one request generate together; 0: no limit
  int max_seconds = 0;   // from a request's arrival to its end; 0: no limit
  // Requests that ask for a lower one get this; none: they get what they ask for.
  std::optional<int> best_priority;
  int max_stop_texts = 16;
  int max_stop_bytes = 1024;  // of one stop text
  int max_stop_tokens = 1024;
  int max_biases = 1024;
  // Of an answer that is not streamed, and of what any answer echoes.
  std::size_t max_answer_bytes = std::size_t{32} << 20;
  // Of all such answers together that are being made or read.
  std::size_t max_held_bytes = std::size_t{256} << 20;
  int max_tools = 128;       // that a chat describes, and calls of one message
  int max_variables = 64;    // of chat_template_kwargs
  int max_name_bytes = 256;  // "name", "tool_call_id", the id of a call
  // Of the tools, calls and variables of one chat together, as JSON.
  std::size_t max_template_bytes = std::size_t{1} << 20;
};

// The server's facts that a request is checked against.
struct RequestContext {
  std::string model_id;
  int vocab_size = 0;
  RequestLimits limits;
  bool strict = false;  // fields of common clients are refused as well
  std::vector<std::string> aliases = {};
  // Whether the chat template reads a name; empty: it reads all.
  std::function<bool(std::string_view)> template_reads = {};
};

struct GenerationOptions {
  Sampling sampling;
  std::optional<int> max_tokens;
  int num_choices = 1;  // "n"
  std::vector<std::string> stop;
  std::vector<TokenId> stop_tokens;
  bool ignore_eos = false;
  int priority = 0;                    // the lower, the earlier
  bool asked_better_priority = false;  // than limits.best_priority
  bool stream = false;
  bool include_usage = false;
  bool logprobs = false;
  int top_logprobs = 0;
  std::vector<std::string> ignored;  // paths of fields of common clients

  // Where they are listed; null where they are refused.
  std::vector<std::string>* unknown_fields(bool strict) { return strict ? nullptr : &ignored; }
};

struct PromptInput {
  std::vector<TextPart> parts;  // when given as text; they form one text
  std::vector<TokenId> tokens;  // when given as token ids (then not empty)
};

struct CompletionRequest {
  GenerationOptions options;
  std::vector<PromptInput> prompts;  // at least one
  bool echo = false;
};

struct ChatRequest {
  GenerationOptions options;
  Conversation conversation;  // at least one message
};

// Throw ApiError: 400, or 404 (model_not_found) for another model's name.
CompletionRequest parse_completion_request(std::string_view body, const RequestContext& context);
ChatRequest parse_chat_request(std::string_view body, const RequestContext& context);

}  // namespace tandem::server::openai
