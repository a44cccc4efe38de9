// SPDX-License-Identifier: Apache-2.0
//
// owned_range(): the values of a parameter that a rank updates.
//
// A parameter with at least kWholeBelow values is divided evenly among the ranks, in whole units (a
// row, or kUnitValues). A smaller one belongs to one rank; the ranks take turns by the parameters'
// numbers. The ranges of all ranks together cover every value once. A pure function.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tandem::training {

struct OwnedRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;  // 0: the rank owns nothing

  bool operator==(const OwnedRange&) const = default;
};

inline constexpr std::uint64_t kWholeBelow = 16384;
inline constexpr std::uint64_t kUnitValues = 64;  // keeps the alignment of a bf16 copy

// count: a multiple of the width. by_rows: ranges consist of whole rows.
inline OwnedRange owned_range(std::uint32_t number, std::uint64_t count, std::uint32_t width,
                              bool by_rows, int rank, int world) {
  const auto ranks = static_cast<std::uint64_t>(world);
  const auto own = static_cast<std::uint64_t>(rank);
  if (count < kWholeBelow) return {0, number % ranks == own ? count : 0};
  const std::uint64_t unit = by_rows ? width : kUnitValues;
  const std::uint64_t units = (count + unit - 1) / unit;
  const std::uint64_t share = (units + ranks - 1) / ranks * unit;
  const std::uint64_t first = std::min(count, own * share);
  return {first, std::min(count - first, share)};
}

}  // namespace tandem::training
