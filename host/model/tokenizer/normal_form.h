// SPDX-License-Identifier: Apache-2.0
//
// Unicode's normal form C, which some tokenizers ask for (Qwen).
//
// Uses utf8proc if the build found it. Bytes that are not UTF-8 stay as they are. Threads: any;
// pure functions. Errors: Error("tokenizer", ...) without the library, for text that is not ASCII.
#pragma once

#include <string>
#include <string_view>

namespace tandem::model {

// Whether this build can compose; a tokenizer that needs it is refused otherwise.
bool can_compose();

std::string composed(std::string_view text);

}  // namespace tandem::model
