// SPDX-License-Identifier: Apache-2.0
//
// parse_document(): parses untrusted bytes strictly as a JSON object. Its members keep their order.
//
// The grammar excludes NaN, trailing text and invalid UTF-8. Duplicate keys, deep nesting and very
// many values are also refused: a JSON value takes up to forty times the bytes of its text.
// Cost: one pass and a sort of each object's names, no recursion. Errors: ApiError 400.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace tandem::server::openai {

struct DocumentLimits {
  std::size_t max_depth = 32;
  std::size_t max_values = 1 << 19;
};

nlohmann::ordered_json parse_document(std::string_view text, const DocumentLimits& limits = {});

}  // namespace tandem::server::openai
