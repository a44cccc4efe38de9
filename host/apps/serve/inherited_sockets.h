// SPDX-License-Identifier: Apache-2.0
//
// Listening sockets that the service manager has opened for this process (systemd's protocol:
// LISTEN_PID and LISTEN_FDS; the descriptors begin at 3).
#pragma once

#include <vector>

namespace tandem::apps {

// Empty when there are none. Takes the variables out of the environment, so that no child takes
// the sockets for its own. Throws Error("serve", ...) when they make no sense. Call it before
// threads start.
std::vector<int> inherited_sockets();

}  // namespace tandem::apps
