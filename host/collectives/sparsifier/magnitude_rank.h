// SPDX-License-Identifier: Apache-2.0
//
// The n-th largest of many magnitudes, exactly.
//
// Positive f32 values have the same order as their bits. A histogram of the upper bits finds the
// few candidates for the n-th value, and only these are sorted. Cost: three reads. Threads: any.
#pragma once

#include <cstdint>
#include <span>

namespace tandem::collectives {

struct RankedMagnitude {
  float value = 0;
  std::uint64_t above = 0;     // magnitudes that are larger
  std::uint64_t at_least = 0;  // magnitudes that are larger or equal
};

// rank: 1 is the largest; at most the number of values. No magnitude is a NaN or negative.
RankedMagnitude nth_magnitude(std::span<const float> magnitudes, std::uint64_t rank);

}  // namespace tandem::collectives
