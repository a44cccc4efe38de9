// SPDX-License-Identifier: Apache-2.0
//
// /tokenize and /detokenize: convert between text and token ids, in the form that clients of other
// servers use.
//
//   {"content" or "prompt": text, or "messages": [...]}    -> {"tokens", "count", "max_model_len"}
//     add_special (or add_special_tokens): BOS in front; by default with "prompt" only
//     parse_special: "</s>" is a token; true by default.  with_pieces: [{"id", "piece"}]
//   {"tokens": [...]}                                      -> {"content", "prompt"}: the text
// Both run on a thread of the pool. Errors: ApiError 400 naming the field. Threads: any.
#pragma once

#include <memory>
#include <string>

#include "server/http/exchange.h"
#include "server/openai/api_context.h"

namespace tandem::server::openai {

void handle_tokenize(http::Exchange& exchange, std::shared_ptr<const ApiContext> context);
void handle_detokenize(http::Exchange& exchange, std::shared_ptr<const ApiContext> context);

}  // namespace tandem::server::openai
