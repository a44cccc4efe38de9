// SPDX-License-Identifier: Apache-2.0
//
// A compute unit's register map, as programs read and write it.
//
// As in HLS control registers, writing the start bit runs the unit with the arguments in its
// register map, reading clears done, and writing ones clears interrupt status. Outputs that a
// program reads from a mailbox belong to a call that began after the program's request, because XRT
// does not repeat the request. Return values: 0 or a negative errno value. Threads: any.
#pragma once

#include <cstdint>

#include "emulation/xrt_shim/card/card.h"

namespace tandem::emulation {

int read_register(const Card& card, uint32_t unit, uint32_t offset, uint32_t* value);
int write_register(Card& card, uint32_t unit, uint32_t offset, uint32_t value);

}  // namespace tandem::emulation
