// SPDX-License-Identifier: Apache-2.0
//
// mixed(): 64 pseudo-random bits from a seed and a number, the same on every machine.
//
// Uses steps of SplitMix64. Threads: any; pure functions.
#pragma once

#include <cstdint>

#include "common/split_mix.h"

namespace tandem::training {

inline std::uint64_t mixed(std::uint64_t bits) { return split_mix(bits); }

inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t number) {
  return mixed(mixed(seed) ^ mixed(number * 0xd1342543de82ef95u + 1));
}

// Converts such bits to a number in (0, 1).
inline double unit(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

}  // namespace tandem::training
