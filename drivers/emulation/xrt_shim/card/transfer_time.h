// SPDX-License-Identifier: Apache-2.0
//
// With TANDEM_TIME=model each copy between host and card has a line in TANDEM_CARD_REPORT: kind
// "transfer_time", severity "note", with the time that the link of a real card would take.
//
// Threads: any.
#pragma once

#include <cstdint>

#include "emulation/xrt_shim/card/card.h"

namespace tandem::emulation {

// The clock of these lines and of the cards' lines; 0 if copies have no lines.
uint64_t transfer_begins_ns();
// `begun_ns`: from transfer_begins_ns().
void note_transfer_time(Card& card, bool to_device, uint64_t bytes, uint64_t begun_ns);

}  // namespace tandem::emulation
