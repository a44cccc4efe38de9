// SPDX-License-Identifier: Apache-2.0
//
// Rows without zeros, on 16-bit and 32-bit patterns: a value is zero if all bits but its sign are.
#include "cpu/kernels/sparse_products/sparse_rows.h"

#include <algorithm>
#include <cstring>

namespace tandem::device::cpu {
namespace {

template <typename Bits>
bool is_non_zero(Bits value) {
  return static_cast<Bits>(value << 1) != 0;
}

template <typename Bits>
Bits bits_at(const std::byte* row, std::size_t i) {
  Bits value;
  std::memcpy(&value, row + i * sizeof value, sizeof value);
  return value;
}

template <typename Bits>
std::size_t count(const std::byte* row, std::size_t in_features) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < in_features; ++i) {
    sum += is_non_zero(bits_at<Bits>(row, i)) ? 1u : 0u;
  }
  return sum;
}

// A value and its place are always written, and kept if the next ones are written after them.
template <typename Bits>
void pack(const std::byte* row, std::size_t in_features, std::byte* to) {
  const std::size_t blocks = sparse_blocks(in_features);
  const std::size_t places_at = blocks * sizeof(std::uint16_t);
  std::byte* values = to + sparse_values_at(blocks, count<Bits>(row, in_features));
  std::fill(to + places_at, values, std::byte{0});
  std::size_t filled = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    Bits kept[kSparseBlockInputs];
    std::uint8_t places[kSparseBlockInputs];
    std::size_t here = 0;
    const std::size_t first = block * kSparseBlockInputs;
    const std::size_t inputs = std::min(in_features - first, kSparseBlockInputs);
    for (std::size_t i = 0; i < inputs; ++i) {
      const Bits value = bits_at<Bits>(row, first + i);
      kept[here] = value;
      places[here] = static_cast<std::uint8_t>(i);
      here += is_non_zero(value) ? 1u : 0u;
    }
    std::memcpy(to + places_at + filled, places, here);
    std::memcpy(values + filled * sizeof(Bits), kept, here * sizeof(Bits));
    filled += here;
    const auto end = static_cast<std::uint16_t>(filled);
    std::memcpy(to + block * sizeof end, &end, sizeof end);
  }
}

}  // namespace

std::size_t count_non_zeros(DType dtype, const std::byte* row, std::size_t in_features) {
  return dtype == DType::kF32 ? count<std::uint32_t>(row, in_features)
                              : count<std::uint16_t>(row, in_features);
}

std::size_t sparse_row_bytes(DType dtype, std::size_t in_features, std::size_t non_zeros) {
  const std::size_t value_bytes = dtype == DType::kF32 ? 4 : 2;
  return (sparse_values_at(sparse_blocks(in_features), non_zeros) + non_zeros * value_bytes + 7) /
         8 * 8;
}

void pack_sparse_row(DType dtype, const std::byte* row, std::size_t in_features, std::byte* to) {
  if (dtype == DType::kF32) {
    pack<std::uint32_t>(row, in_features, to);
  } else {
    pack<std::uint16_t>(row, in_features, to);
  }
}

}  // namespace tandem::device::cpu
