// SPDX-License-Identifier: Apache-2.0
//
// Listening sockets that the service manager has opened for this process (systemd's protocol:
// LISTEN_PID and LISTEN_FDS; the descriptors begin at 3).
#pragma once

#include <vector>

namespace tandem::apps {

// Empty when there are none. Removes the variables from the environment, so that no child process
// uses the sockets. Throws Error("serve", ...) for invalid variables. Call it before threads start.
std::vector<int> inherited_sockets();

}  // namespace tandem::apps
