// SPDX-License-Identifier: Apache-2.0
//
// A compute unit's register map as programs read and write it.
//
// Writing the start bit runs the unit with the arguments in its register map; done is cleared by
// reading it and interrupt status by writing ones to it, as HLS control registers do. Outputs that
// the program takes back from a mailbox are those of a call begun since it asked for them: XRT does
// not ask again. Return values: 0 or a negative errno value. Threads: any.
#pragma once

#include <cstdint>

#include "emulation/xrt_shim/card/card.h"

namespace tandem::emulation {

int read_register(const Card& card, uint32_t unit, uint32_t offset, uint32_t* value);
int write_register(Card& card, uint32_t unit, uint32_t offset, uint32_t value);

}  // namespace tandem::emulation
