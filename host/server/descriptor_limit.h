// SPDX-License-Identifier: Apache-2.0
//
// Compares the process's limit of open files with the number of connections that it is configured
// for.
#pragma once

#include <cstddef>

namespace tandem::server {

// Raises the soft limit as far as needed. Throws Error("server", ...) with both numbers when the
// hard limit is too low.
void require_descriptors(std::size_t max_connections);

}  // namespace tandem::server
