// SPDX-License-Identifier: Apache-2.0
//
// Reads the fields that both kinds of request share. Errors: ApiError 400 naming the field.
#pragma once

#include <vector>

#include "server/openai/field_reader.h"
#include "server/openai/request_parser.h"

namespace tandem::server::openai {

// Sampling, stops, n, stream; also reads the fields that are ignored or neutral.
GenerationOptions read_generation_options(FieldReader& fields, const RequestContext& context);

// Tools are refused unless they have their neutral value.
void read_no_tools(FieldReader& fields);

// A JSON array of ids within the vocabulary.
std::vector<TokenId> read_token_ids(const nlohmann::ordered_json& array, const std::string& path,
                                    const RequestContext& context);

}  // namespace tandem::server::openai
