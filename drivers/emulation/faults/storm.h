// SPDX-License-Identifier: Apache-2.0
//
// A random script of faults that a program can notice: every one shows as an error, a delay or a
// correction. Silent faults (bit flips without ECC) are not among them.
//
// The seed decides which faults, how often and how long. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::emulation {

// About one fault in `events` launches and syncs of a card, of which a card's end is the rarest.
// `cards`: faults of cards 0 to cards - 1; 0: of all.
// Set-up and the first `events` launches and syncs are calm.
std::string make_storm(uint64_t seed, uint64_t events, uint32_t cards);

}  // namespace tandem::emulation
