// SPDX-License-Identifier: Apache-2.0
//
// Sorted random subsets, the same on every platform for one seed.
//
// Exactly `count` of `population` places, in expected O(count): the range is halved with a
// hypergeometric count (normal approximation while both sides are large, exact below) until the
// part is small. Threads: any.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::sparse {

// xoshiro256** seeded by splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  std::uint64_t next();
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)
  std::uint64_t below(std::uint64_t bound);
  double normal();

 private:
  std::uint64_t state_[4];
};

// Mixes two numbers into a seed.
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

// Appends `count` distinct places of [begin, begin + population), ascending. Place: std::uint32_t,
// or std::uint64_t where the range reaches beyond 2^32.
template <typename Place>
void append_subset(std::uint64_t begin, std::uint64_t population, std::uint64_t count,
                   Random& random, std::vector<Place>& to);

}  // namespace tandem::sparse
