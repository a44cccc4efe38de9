// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 as the answers need it. Pure; one pass. Source: Unicode 15, table 3-7.
#pragma once

#include <cstddef>
#include <string_view>

namespace tandem::server::openai {

// Well-formed, whole sequences; no surrogates, no overlong forms.
bool is_valid_utf8(std::string_view bytes);

// Bytes that begin a code point (all but continuation bytes).
std::size_t count_code_points(std::string_view bytes);

}  // namespace tandem::server::openai
