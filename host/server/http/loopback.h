// SPDX-License-Identifier: Apache-2.0
//
// Whether only this machine can connect. Pure.
#pragma once

#include "server/http/listen_options.h"

namespace tandem::server::http {

// Over TCP; sockets of a service manager may be open to all.
bool is_loopback_only(const ListenOptions& listen);

}  // namespace tandem::server::http
