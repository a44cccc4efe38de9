// SPDX-License-Identifier: Apache-2.0
//
// A chunk of 4,096 values, stored as few entries: 12-bit positions in the chunk, 2-bit values, two
// levels.
//
// Layout: the lower and the upper level (f32 each), then the places, then the codes, packed from
// the lowest bit on, padded to a byte at the end. Code: bit 0 the sign, bit 1 the upper level. The
// lower level is the mean of the magnitudes below the mean of all magnitudes; the upper level is
// the mean of the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem::sparse {

constexpr std::uint64_t kPackedChunkValues = 4096;

// Bytes of a chunk with `count` entries.
std::size_t packed_chunk_bytes(std::size_t count);

// places: [count] below 4,096; values: [count]. to: packed_chunk_bytes(count). count: at least 1.
void pack_chunk(std::span<const std::uint16_t> places, std::span<const float> values,
                std::span<std::byte> to);

// The inverse of pack_chunk(), except that values are the rounded ones. places, values: [count].
void unpack_chunk(std::span<const std::byte> from, std::span<std::uint16_t> places,
                  std::span<float> values);

}  // namespace tandem::sparse
