// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: bytes -> OpenAI request. Whatever comes, the parser refuses with an ApiError or
// returns values within the ranges its header promises.
#include <cstdio>
#include <cstdlib>

#include "server/openai/api_error.h"
#include "server/openai/request_parser.h"
#include "support/fuzz_main.h"

namespace {

using tandem::server::openai::ApiError;
using tandem::server::openai::ChatRequest;
using tandem::server::openai::CompletionRequest;
using tandem::server::openai::error_body;
using tandem::server::openai::GenerationOptions;
using tandem::server::openai::parse_chat_request;
using tandem::server::openai::parse_completion_request;
using tandem::server::openai::RequestContext;

const RequestContext kContext{"fake", 258, {}};

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

void check(const GenerationOptions& options) {
  const auto& sampling = options.sampling;
  require(sampling.temperature >= 0 && sampling.temperature <= 2, "temperature");
  require(sampling.top_p >= 0 && sampling.top_p <= 1, "top_p");
  require(sampling.top_k >= 0, "top_k");
  require(sampling.repetition_penalty > 0, "repetition_penalty");
  require(options.num_choices >= 1 && options.num_choices <= kContext.limits.max_choices, "n");
  require(options.top_logprobs >= 0 && options.top_logprobs <= 20, "top_logprobs");
  require(!options.max_tokens || *options.max_tokens >= 0, "max_tokens");
  for (const auto& [id, bias] : sampling.logit_bias) {
    require(id >= 0 && id < kContext.vocab_size && bias >= -100 && bias <= 100, "logit_bias");
  }
  for (const auto& stop : options.stop) require(!stop.empty(), "stop");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  try {
    const CompletionRequest request = parse_completion_request(body, kContext);
    check(request.options);
    require(!request.prompts.empty(), "prompts");
  } catch (const ApiError& error) {
    require(error.status == 400 || error.status == 404 || error.status == 415, "status");
    require(!error_body(error).empty(), "error body");
  }
  try {
    const ChatRequest request = parse_chat_request(body, kContext);
    check(request.options);
    require(!request.conversation.messages.empty(), "messages");
  } catch (const ApiError& error) {
    require(error.status == 400 || error.status == 404 || error.status == 415, "status");
  }
  return 0;
}
