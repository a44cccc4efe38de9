// SPDX-License-Identifier: Apache-2.0
//
// translated_expression(): a regular expression for Oniguruma, as files of tokenizers have it, so
// that PCRE2 reads it the same way.
//
// Escapes and groups that are not known to mean the same in both are refused. Pure. Errors:
// Error("tokenizer", ...) naming what is not supported. Source: Oniguruma's RE (Ruby's syntax).
#pragma once

#include <string>
#include <string_view>

// White space within a character class: Unicode's White_Space property. PCRE2's \s adds U+180E.
#define TANDEM_SPACE R"(\t-\r\x{85}\p{Z})"

namespace tandem::model {

std::string translated_expression(std::string_view oniguruma);

}  // namespace tandem::model
