// SPDX-License-Identifier: Apache-2.0
//
// Takes the listening sockets that the service manager opened for this process. The protocol is
// systemd's: LISTEN_PID and LISTEN_FDS; the descriptors begin at 3.
#pragma once

#include <vector>

namespace tandem::apps {

// Returns nothing if there are none. Removes the variables from the environment, so that child
// processes do not use the sockets. Throws Error("serve", ...) for invalid variables. Call it
// before threads start.
std::vector<int> inherited_sockets();

}  // namespace tandem::apps
