// SPDX-License-Identifier: Apache-2.0
//
// make_storm: a random fault script whose faults a program can notice: each causes an error, a
// delay or a correction. It contains no silent faults (bit flips without ECC).
//
// The seed decides the faults, their frequency and duration. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::emulation {

// About one fault in `events` launches and syncs of a card; the end of a card is the rarest. Set-up
// and the first `events` launches and syncs have no faults. `cards`: faults happen on cards 0 to
// cards - 1; 0: on all.
std::string make_storm(uint64_t seed, uint64_t events, uint32_t cards);

}  // namespace tandem::emulation
