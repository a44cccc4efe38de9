// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace tandem {

struct Utf8Sequence {
  std::size_t length = 1;   // bytes it takes; for a wrong one those a decoder skips
  bool valid = false;       // a whole code point
  bool incomplete = false;  // the text ends within what may become one
};

// The sequence at the start of `text`, which must not be empty. A wrong one is cut as Unicode
// recommends (maximal subparts): the longest prefix of a possible sequence, at least one byte.
Utf8Sequence next_utf8(std::string_view text);

// Well-formed, whole sequences only.
bool is_valid_utf8(std::string_view bytes);

// Bytes that begin a code point (all but continuation bytes).
std::size_t count_code_points(std::string_view bytes);

}  // namespace tandem
