// SPDX-License-Identifier: Apache-2.0
//
// Adds the buffer that a finding is about (member "buffer"), and where the program made it.
// Threads: any.
#pragma once

#include <cstdint>

#include "emulation/protocol/finding.h"
#include "emulation/protocol/memory_states.h"

namespace tandem::emulation {

// The buffer is that of MemoryStates::find(). Adds nothing if there is none.
void add_buffer_to(Finding& finding, const MemoryStates& states, uint64_t address);

}  // namespace tandem::emulation
