// SPDX-License-Identifier: Apache-2.0
//
// The operator's limits on what one request may generate and hold in memory, before anything is
// submitted. Pure; threads: any. Errors: ApiError 400 with the numbers.
#pragma once

#include "server/openai/generation_plan.h"
#include "server/openai/request_parser.h"

namespace tandem::server::openai {

// Lowers the max_tokens that the server itself chose, and refuses one that the client `asked` for,
// so that all choices together keep to limits.max_tokens.
void limit_tokens(GenerationPlan& plan, const RequestLimits& limits, bool asked);

// Refuses an answer that may not fit into limits.max_answer_bytes: a whole one that is not
// streamed, or what is echoed.
void limit_bytes(const GenerationPlan& plan, const RequestLimits& limits);

}  // namespace tandem::server::openai
