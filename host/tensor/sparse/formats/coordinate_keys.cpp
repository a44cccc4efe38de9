// SPDX-License-Identifier: Apache-2.0
//
// Bits of the modes side by side, with rankings where they do not fit.
#include "tensor/sparse/formats/coordinate_keys.h"

#include <algorithm>

#include "tensor/sparse/formats/radix_sort.h"

namespace tandem::sparse {
namespace {

constexpr int kKeyBits = 64;

// Replaces keys by their ranks among the distinct ones.
void rank_keys(CoordinateKeys& of, ThreadPool& pool) {
  const RawVector<KeyedPosition> records = sorted_positions(of.keys, of.bits, pool);
  std::uint64_t rank = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (i > 0 && records[i].key != records[i - 1].key) ++rank;
    of.keys[records[i].position] = rank;
  }
  of.bits = index_bits(rank + 1);
}

// position_of(i): which entry the i-th key belongs to.
template <typename PositionOf>
void append_mode(const IndexColumn& column, int shift, const PositionOf& position_of,
                 CoordinateKeys& to, ThreadPool& pool) {
  column.visit([&](auto indices) {
    for_parts(to.keys.size(), pool, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint64_t before = shift == kKeyBits ? 0 : to.keys[i] << shift;
        to.keys[i] = before | indices[position_of(i)];
      }
    });
  });
}

template <typename PositionOf>
CoordinateKeys keys_of(const CooTensor& tensor, std::span<const std::size_t> modes,
                       std::size_t num_keys, const PositionOf& position_of, ThreadPool& pool) {
  CoordinateKeys result;
  result.keys.resize(num_keys);
  std::fill(result.keys.begin(), result.keys.end(), 0);
  for (const std::size_t mode : modes) {
    int bits = index_bits(tensor.sizes[mode]);
    if (result.bits + bits > kKeyBits) rank_keys(result, pool);
    if (result.bits + bits <= kKeyBits) {
      append_mode(tensor.indices[mode], bits, position_of, result, pool);
    } else {
      // Ranks of at most 2^32 entries fit beside each other.
      CoordinateKeys alone;
      alone.keys.resize(num_keys);
      std::fill(alone.keys.begin(), alone.keys.end(), 0);
      append_mode(tensor.indices[mode], kKeyBits, position_of, alone, pool);
      alone.bits = bits;
      rank_keys(alone, pool);
      bits = alone.bits;
      for (std::size_t i = 0; i < num_keys; ++i) {
        result.keys[i] = result.keys[i] << bits | alone.keys[i];
      }
    }
    result.bits += bits;
  }
  return result;
}

}  // namespace

CoordinateKeys coordinate_keys(const CooTensor& tensor, std::span<const std::size_t> modes,
                               ThreadPool& pool) {
  return keys_of(
      tensor, modes, tensor.num_entries(), [](std::size_t i) { return i; }, pool);
}

CoordinateKeys coordinate_keys_at(const CooTensor& tensor, std::span<const std::size_t> modes,
                                  std::span<const std::uint64_t> positions, ThreadPool& pool) {
  return keys_of(
      tensor, modes, positions.size(),
      [&](std::size_t i) { return static_cast<std::size_t>(positions[i]); }, pool);
}

std::vector<std::size_t> modes_without(std::size_t order, std::span<const std::size_t> left_out) {
  std::vector<std::size_t> modes;
  for (std::size_t mode = 0; mode < order; ++mode) {
    if (std::find(left_out.begin(), left_out.end(), mode) == left_out.end()) modes.push_back(mode);
  }
  return modes;
}

}  // namespace tandem::sparse
