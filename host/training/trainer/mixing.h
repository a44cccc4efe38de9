// SPDX-License-Identifier: Apache-2.0
//
// mixed(): 64 pseudo-random bits from a seed and a number, the same on every machine.
//
// Source: the finaliser of SplitMix64 (Steele, Lea and Flood 2014). Threads: any; pure functions.
#pragma once

#include <cstdint>

namespace tandem::training {

inline std::uint64_t mixed(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t number) {
  return mixed(mixed(seed) ^ mixed(number * 0xd1342543de82ef95u + 1));
}

// Such bits as a number in (0, 1).
inline double unit(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

}  // namespace tandem::training
