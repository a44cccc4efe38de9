// SPDX-License-Identifier: Apache-2.0
//
// Ends the commands in a ring after its card has ended.
#pragma once

#include <ert.h>

#include "emulation/protocol/client_area.h"

namespace tandem::emulation {

// Empties `ring`, a ring of `client`. A packet without a final state gets `state`. A ring entry may
// be marked as done while its packet has no final state yet, because the card writes the entry
// first. The caller holds the lock of the ring's producers.
void fail_commands(Ring& ring, const ClientArea& client, uint32_t state = ERT_CMD_STATE_ERROR);

}  // namespace tandem::emulation
