// SPDX-License-Identifier: Apache-2.0
//
// The process's limit of open files against the connections that it promises to hold.
#pragma once

#include <cstddef>

namespace tandem::server {

// Raises the soft limit as far as needed. Throws Error("server", ...) with both numbers when the
// hard limit is too low.
void require_descriptors(std::size_t max_connections);

}  // namespace tandem::server
