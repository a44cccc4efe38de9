// SPDX-License-Identifier: Apache-2.0
//
// What a finding says of a buffer: its member "buffer", and where the program made it. Threads:
// any.
#pragma once

#include <cstdint>

#include "emulation/protocol/finding.h"
#include "emulation/protocol/memory_states.h"

namespace tandem::emulation {

// Of the buffer that has `address`, or ends closest before it; nothing where there is none.
void add_buffer_to(Finding& finding, const MemoryStates& states, uint64_t address);

}  // namespace tandem::emulation
