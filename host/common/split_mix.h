// SPDX-License-Identifier: Apache-2.0
//
// SplitMix64: pseudo-random bits, the same on every machine.
//
// split_mix() is one step from a state: it mixes any 64 bits. next_split_mix() is the sequence.
// Source: Steele, Lea and Flood, OOPSLA 2014. Threads: any; pure.
#pragma once

#include <cstdint>

namespace tandem {

inline constexpr std::uint64_t kSplitMixStep = 0x9e3779b97f4a7c15u;

inline std::uint64_t split_mix(std::uint64_t bits) {
  bits += kSplitMixStep;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

inline std::uint64_t next_split_mix(std::uint64_t& state) {
  const std::uint64_t bits = split_mix(state);
  state += kSplitMixStep;
  return bits;
}

}  // namespace tandem
