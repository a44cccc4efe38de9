// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes a compute unit's register map for a program.
//
// As with HLS control registers, writing the start bit runs the unit with the arguments in its
// register map, reading clears the done bit, and writing ones clears the interrupt status. When a
// program reads outputs from a mailbox, they come from a call that began after its request, because
// XRT does not repeat the request. Return values: 0 or a negative errno value. Threads: any.
#pragma once

#include <cstdint>

#include "emulation/xrt_shim/card/card.h"

namespace tandem::emulation {

int read_register(Card& card, uint32_t unit, uint32_t offset, uint32_t* value);
int write_register(Card& card, uint32_t unit, uint32_t offset, uint32_t value);

}  // namespace tandem::emulation
