// SPDX-License-Identifier: Apache-2.0
//
// Parses a complete head that HeadScanner has accepted into method, target and fields. Threads:
// any; stateless.
#pragma once

#include <optional>
#include <string_view>

#include "server/http/exchange.h"
#include "server/http/refusal.h"

namespace tandem::server::http {

// Fills in `request` except its body. `keep_alive`: whether the client wants the connection to stay
// open. If the target contains a host, it becomes the value of "host" (RFC 9112 3.2.2).
std::optional<Refusal> parse_head(std::string_view head, Request* request, bool* keep_alive);

}  // namespace tandem::server::http
