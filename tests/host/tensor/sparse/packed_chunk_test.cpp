// SPDX-License-Identifier: Apache-2.0
//
// A packed chunk, read again.
#include "tensor/sparse/packed_chunk.h"

#include <gtest/gtest.h>

#include <vector>

namespace tandem::sparse {
namespace {

TEST(PackedChunk, KeepsPlacesExactlyAndValuesAtTwoLevelsWithSigns) {
  for (const std::size_t count : {1, 2, 3, 41, 4096}) {
    std::vector<std::uint16_t> places(count);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      places[i] = static_cast<std::uint16_t>(i * (4096 / count));
      values[i] = (i % 2 == 0 ? 1.0f : -1.0f) * (i % 3 == 0 ? 8.0f : 2.0f);
    }
    std::vector<std::byte> packed(packed_chunk_bytes(count));
    EXPECT_EQ(packed.size(), 8 + (14 * count + 7) / 8);
    pack_chunk(places, values, packed);
    std::vector<std::uint16_t> read_places(count);
    std::vector<float> read_values(count);
    unpack_chunk(packed, read_places, read_values);
    EXPECT_EQ(read_places, places);
    EXPECT_EQ(read_values, values);  // two levels are all there are
  }
}

}  // namespace
}  // namespace tandem::sparse
