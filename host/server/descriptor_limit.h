// SPDX-License-Identifier: Apache-2.0
//
// Checks that the process's limit of open files allows the configured number of connections.
#pragma once

#include <cstddef>

namespace tandem::server {

// Raises the soft limit as far as needed. Throws Error("server", ...) with both numbers if the hard
// limit is too low.
void require_descriptors(std::size_t max_connections);

}  // namespace tandem::server
