// SPDX-License-Identifier: Apache-2.0
//
// Writes JSON directly into a string, without a tree of values.
//
// Bytes that are not UTF-8 become U+FFFD. Pure functions; threads: any. Source: RFC 8259.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::server::openai {

void append_escaped(std::string& out, std::string_view text);  // without the quotes
void append_quoted(std::string& out, std::string_view text);
void append_number(std::string& out,
                   float number);  // finite; the shortest text that reads back equal
void append_number(std::string& out, std::int64_t number);

}  // namespace tandem::server::openai
