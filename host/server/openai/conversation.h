// SPDX-License-Identifier: Apache-2.0
//
// Reads the inputs of a chat template: messages, tools, tool_choice, chat_template_kwargs and
// reasoning_effort.
//
// The number and the size of tools, calls and variables are bounded. Fields that the template does
// not read, or that cannot be enforced, are listed in `ignored`. If `ignored` is null (a strict
// server), they are refused, and so are chat_template_kwargs and reasoning_effort.
// Errors: ApiError 400 naming the field. Threads: any; pure.
#pragma once

#include <string>
#include <vector>

#include "server/openai/field_reader.h"
#include "server/openai/request_parser.h"

namespace tandem::server::openai {

Conversation read_conversation(FieldReader& fields, const RequestContext& context,
                               std::vector<std::string>* ignored);

}  // namespace tandem::server::openai
