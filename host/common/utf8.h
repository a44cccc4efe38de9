// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace tandem {

struct Utf8Sequence {
  // bytes of the sequence; if it is invalid, the bytes that a decoder skips
  std::size_t length = 1;
  bool valid = false;       // whether the sequence is a whole code point
  bool incomplete = false;  // the text ends within a sequence that may still become valid
};

// The sequence at the start of `text`, which must not be empty. An invalid one is cut as Unicode
// recommends (maximal subparts): the longest prefix of a valid sequence, at least one byte.
Utf8Sequence next_utf8(std::string_view text);

// Whether all of `bytes` is well-formed.
bool is_valid_utf8(std::string_view bytes);

// The number of bytes that are not continuation bytes.
std::size_t count_code_points(std::string_view bytes);

}  // namespace tandem
