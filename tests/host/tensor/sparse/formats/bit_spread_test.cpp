// SPDX-License-Identifier: Apache-2.0
//
// Spread bits by the instruction and by tables, against one bit at a time.
#include "tensor/sparse/formats/bit_spread.h"

#include <gtest/gtest.h>

#include <random>

namespace tandem::sparse {
namespace {

std::uint64_t bit_by_bit(std::uint64_t index, std::uint64_t mask) {
  std::uint64_t key = 0;
  int from = 0;
  for (int place = 0; place < 64; ++place) {
    if ((mask >> place & 1) == 0) continue;
    key |= (index >> from++ & 1) << place;
  }
  return key;
}

TEST(BitSpread, PutsTheBitsOfAnIndexAtThePlacesOfAMask) {
  std::mt19937_64 engine(12);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t mask = round == 0 ? 0
                               : round == 1
                                   ? ~std::uint64_t{0}
                                   : engine() & (round % 2 == 0 ? engine() : ~std::uint64_t{0});
    const int bits = std::popcount(mask);
    const std::uint64_t below = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    for (const BitSpread::With with : {BitSpread::With::kBest, BitSpread::With::kTables}) {
      const BitSpread spread(mask, with);
      std::vector<std::uint64_t> wide, keys, expected;
      std::vector<std::uint32_t> narrow;
      for (int i = 0; i < 20; ++i) {
        const std::uint64_t index = engine() & below;
        EXPECT_EQ(spread(index), bit_by_bit(index, mask));
        EXPECT_EQ(spread.gathered(spread(index) | (engine() & ~mask)), index);
        wide.push_back(index);
        narrow.push_back(static_cast<std::uint32_t>(index));
        keys.push_back(engine() & ~mask);
        expected.push_back(keys.back() | bit_by_bit(index, mask));
      }
      std::vector<std::uint64_t> added = keys;
      spread.add_to(added.data(), std::span<const std::uint64_t>(wide));
      EXPECT_EQ(added, expected);
      if (bits > 32) continue;
      added = keys;
      spread.add_to(added.data(), std::span<const std::uint32_t>(narrow));
      EXPECT_EQ(added, expected);
    }
  }
}

}  // namespace
}  // namespace tandem::sparse
