// SPDX-License-Identifier: Apache-2.0
//
// Writes the bytes of HTTP/1.1 answers, and reads request targets. Pure functions; threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/http/exchange.h"

namespace tandem::server::http {

enum class Framing { kLength, kChunked, kUntilClose };

// The status line and headers, with Date, Content-Type and the headers for `framing`.
std::string response_head(const Response& response, Framing framing, bool keep_alive);

// Appends one chunk; `data` is not empty (an empty chunk would end the stream).
void append_chunk(std::string& out, std::string_view data);
constexpr std::string_view kLastChunk = "0\r\n\r\n";

// Splits a request target (origin or absolute form) into decoded path and query. False for another
// form, or a malformed escape.
bool split_target(std::string_view target, std::string* path, std::string* query);

// The host and port of a target in absolute form; otherwise empty.
std::string_view target_authority(std::string_view target);

bool equals_ignoring_case(std::string_view a, std::string_view b);

}  // namespace tandem::server::http
