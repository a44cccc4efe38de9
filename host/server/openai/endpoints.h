// SPDX-License-Identifier: Apache-2.0
//
// The handlers of OpenAI's endpoints. They make a plan for GenerationCall from a request's body, on
// a thread of the pool.
//
// A chat is rendered by the model's template. A prompt that leaves no room for output gets 400
// context_length_exceeded with both lengths. A max_tokens beyond the context is reduced to what
// fits. A request beyond the operator's limits gets 400 with the numbers. Threads: any; stateless.
#pragma once

#include <memory>
#include <string>

#include "server/generation_service.h"
#include "server/http/exchange.h"
#include "server/openai/api_context.h"
#include "server/openai/generation_plan.h"

namespace tandem::server::openai {

// These throw ApiError; the caller answers with it.
void handle_completion(http::Exchange& exchange, std::shared_ptr<const ApiContext> context);
void handle_chat(http::Exchange& exchange, std::shared_ptr<const ApiContext> context);

// Make the plans of these bodies.
GenerationPlan plan_completion(const std::string& body, const ApiContext& context);
GenerationPlan plan_chat(const std::string& body, const ApiContext& context);

// Bodies of /v1/models and /v1/models/{id}.
std::string model_list_body(const ModelCard& card);
// The body of /health: "ok", "degraded" with the lost devices, or "unhealthy".
std::string health_body(bool healthy, const std::vector<std::string>& lost_devices);
std::string model_body(const ModelCard& card);
bool is_named(const ModelCard& card, std::string_view name);  // by its id or an alias

}  // namespace tandem::server::openai
