// SPDX-License-Identifier: Apache-2.0
//
// The handlers of OpenAI's endpoints: a request's body -> a plan for GenerationCall.
//
// They tokenise prompts on the connection's thread; a chat first goes through the model's template.
// A prompt that leaves no room for output is 400 context_length_exceeded with both lengths. A
// max_tokens beyond the context is reduced to what fits. Threads: any; stateless.
#pragma once

#include "server/generation_service.h"
#include "server/http/exchange.h"
#include "server/openai/request_parser.h"

namespace tandem::server::openai {

// Throw ApiError; the caller answers it.
void handle_completion(http::Exchange& exchange, GenerationService& service,
                       const RequestLimits& limits);
void handle_chat(http::Exchange& exchange, GenerationService& service, const RequestLimits& limits);

// Bodies of /v1/models and /v1/models/{id}.
std::string model_list_body(const ModelCard& card);
// Of /health: "ok", "degraded" with the devices that are lost, or "unhealthy".
std::string health_body(bool healthy, const std::vector<std::string>& lost_devices);
std::string model_body(const ModelCard& card);

}  // namespace tandem::server::openai
