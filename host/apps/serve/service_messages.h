// SPDX-License-Identifier: Apache-2.0
//
// Converts the server's requests to the engine's, and the engine's events to the server's.
//
// Texts and vectors are moved, so that an event without log-probabilities allocates nothing. Pure
// functions; threads: any.
#pragma once

#include <vector>

#include "engine/request.h"
#include "model/chat/chat_template.h"
#include "server/generation_service.h"

namespace tandem::apps {

engine::Request engine_request(server::GenerationRequest request);

// `with_tokens`: the request asks for top_logprobs. Otherwise the server does not read the tokens.
server::GenerationEvent server_event(engine::RequestEvent event, bool with_tokens);

server::SubmitStatus server_status(engine::SubmitStatus status);
server::SubmitResult server_result(engine::SubmitAllResult result);

// The tools and variables of a conversation, as inputs of the chat template.
model::ChatInputs chat_inputs(server::Conversation& conversation);
std::vector<model::ChatMessage> model_messages(std::vector<server::ChatMessage> messages);

}  // namespace tandem::apps
