// SPDX-License-Identifier: Apache-2.0
//
// is_loopback_only: tells whether only programs on this machine can connect. Pure function.
#pragma once

#include "server/http/listen_options.h"

namespace tandem::server::http {

// About TCP. Returns false for sockets that a service manager has opened, because anyone may reach
// them.
bool is_loopback_only(const ListenOptions& listen);

}  // namespace tandem::server::http
