// SPDX-License-Identifier: Apache-2.0
//
// Unicode's normal form C, which some tokenizers require (Qwen).
//
// Uses utf8proc if the build found it. Invalid UTF-8 bytes do not change. Threads: any; pure
// functions. Errors: Error("tokenizer", ...) for non-ASCII text if the library is missing.
#pragma once

#include <string>
#include <string_view>

namespace tandem::model {

// Whether this build supports the normal form; a tokenizer that needs it is refused otherwise.
bool can_compose();

std::string composed(std::string_view text);

}  // namespace tandem::model
