// SPDX-License-Identifier: Apache-2.0
//
// Answers that need the head of a request and its route only: preflights, and what is refused
// before a body is read.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/access/key_usage.h"
#include "server/http/exchange.h"
#include "server/route_table.h"

namespace tandem::server {

// 204 with these headers.
http::Response empty_with(std::vector<http::Header> headers);

// 404.
http::Response nothing_at(const std::string& path);

// 401. `asks_browser`: the browser asks its user for a key.
http::Response key_refused(bool has_key, bool asks_browser);

// 429 with the seconds after which the key may try again.
http::Response limit_reached(const std::string& key, const LimitReached& reached);

// Answers OPTIONS; refuses a method that the route lacks, and a body that is not declared as JSON.
std::optional<http::Response> check_method(const Route& route, const http::Request& request);

}  // namespace tandem::server
