// SPDX-License-Identifier: Apache-2.0
//
// The smallest entry of a chunk predicts the smallest entry of the next chunk.
#include "collectives/sparsifier/chunk_entries.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "collectives/sparsifier/candidates.h"
#include "collectives/sparsifier/selection_kernels.h"
#include "tensor/sparse/packed_chunk.h"

namespace tandem::collectives {
namespace {

constexpr std::uint64_t kChunk = sparse::kPackedChunkValues;

// The places of the largest magnitudes, ascending. `guess`: a magnitude near the smallest of them;
// any gives the same places. Returns the smallest.
float top_of_chunk(std::span<const float> values, float guess, std::span<std::uint16_t> to) {
  std::uint32_t found[kChunk + kSelectionSlack];
  std::uint64_t keys[kChunk];  // magnitude above place: one comparison orders both
  std::size_t count = find_large(values.data(), values.size(), guess, 0, found);
  while (count < to.size()) {
    guess = guess > std::numeric_limits<float>::min() ? guess / 2 : 0;
    count = find_large(values.data(), values.size(), guess, 0, found);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(values[found[i]]) & 0x7fffffffu;
    keys[i] = std::uint64_t{magnitude} << 12 | (kChunk - 1 - found[i]);
  }
  std::nth_element(keys, keys + to.size() - 1, keys + count, std::greater<>());
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = static_cast<std::uint16_t>(kChunk - 1 - (keys[i] & (kChunk - 1)));
  }
  const std::uint64_t smallest = keys[to.size() - 1] >> 12;
  std::ranges::sort(to);
  return std::bit_cast<float>(static_cast<std::uint32_t>(smallest));
}

}  // namespace

RawVector<std::byte> pack_largest_of_chunks(std::span<const float> values, std::uint32_t count,
                                            std::uint32_t last_count, ThreadPool* threads) {
  const std::uint64_t last = (values.size() - 1) / kChunk;
  const std::size_t chunk_bytes = sparse::packed_chunk_bytes(count);
  RawVector<std::byte> message(last * chunk_bytes + sparse::packed_chunk_bytes(last_count));
  const auto pack = [&](std::uint64_t chunk, float guess) {
    const auto own =
        values.subspan(chunk * kChunk, std::min(kChunk, values.size() - chunk * kChunk));
    std::vector<std::uint16_t> places(chunk == last ? last_count : count);
    std::vector<float> large(places.size());
    const float smallest = top_of_chunk(own, guess, places);
    for (std::size_t i = 0; i < places.size(); ++i) large[i] = own[places[i]];
    sparse::pack_chunk(
        places, large,
        std::span(message).subspan(chunk * chunk_bytes, sparse::packed_chunk_bytes(places.size())));
    return smallest;
  };
  for_each_part(0, values.size(), threads,
                [&](std::uint64_t begin, std::uint64_t end, std::size_t) {
                  float guess = 0;
                  for (std::uint64_t at = begin; at < end; at += kChunk) {
                    guess = 0.8f * pack(at / kChunk, guess);
                  }
                });
  return message;
}

}  // namespace tandem::collectives
