// SPDX-License-Identifier: Apache-2.0
//
// The commands in a ring whose card has ended.
#pragma once

#include <ert.h>

#include "emulation/protocol/client_area.h"

namespace tandem::emulation {

// Empties `ring`, a ring of `client`. A packet without a final state gets `state`. The
// card writes a packet's final state after it marked the entry as done, so it may have ended
// between the two. The caller holds the lock of the ring's producers.
void fail_commands(Ring& ring, const ClientArea& client, uint32_t state = ERT_CMD_STATE_ERROR);

}  // namespace tandem::emulation
