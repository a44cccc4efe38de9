// SPDX-License-Identifier: Apache-2.0
//
// Reads what a chat's template sees: messages, tools, tool_choice, chat_template_kwargs and
// reasoning_effort.
//
// The number and the size of tools, calls and variables are bounded. What the template does not
// read, or what cannot be enforced, is listed in `ignored`, and refused where that is null (a
// strict server, which does not know chat_template_kwargs and reasoning_effort either).
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
