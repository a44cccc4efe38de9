// SPDX-License-Identifier: Apache-2.0
//
// OmniReduce's streaming of non-zero blocks through aggregators; the protocol, its steps and bytes
// are described in omnireduce.cpp. Threads: as the communicator. Errors: TransportError.
#pragma once

#include "collectives/scheme/scheme.h"

namespace tandem::collectives {

// The sum on every rank. `own`: rounded as sent (received.h).
SparseVector stream_blocks(Communicator& ranks, const SparseVector& own,
                           const SchemeSettings& settings);

}  // namespace tandem::collectives
