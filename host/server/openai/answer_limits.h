// SPDX-License-Identifier: Apache-2.0
//
// Checks the operator's limits on what one request may generate and hold in memory, before it is
// submitted. Pure; threads: any. Errors: ApiError 400 with the numbers.
#pragma once

#include "server/openai/generation_plan.h"
#include "server/openai/request_parser.h"

namespace tandem::server::openai {

// Limits all choices together to limits.max_tokens. Lowers a max_tokens that the server chose;
// refuses one that the client `asked` for.
void limit_tokens(GenerationPlan& plan, const RequestLimits& limits, bool asked);

// Refuses an answer that may exceed limits.max_answer_bytes: a whole answer without streaming, or
// an echo.
void limit_bytes(const GenerationPlan& plan, const RequestLimits& limits);

}  // namespace tandem::server::openai
