// SPDX-License-Identifier: Apache-2.0
//
// Rows without zeros, on 16-bit and 32-bit patterns: a value is zero if all bits but its sign are.
#include "cpu/kernels/sparse_products/sparse_rows.h"

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

// A value is always written, and kept if the next one is written after it.
template <typename Bits>
void pack(const std::byte* row, std::size_t in_features, std::byte* to) {
  const std::size_t words = in_features / kSparseWordInputs;
  std::byte* values = to + words * sizeof(std::uint64_t);
  for (std::size_t word = 0; word < words; ++word) {
    Bits kept[kSparseWordInputs];
    std::uint64_t bits = 0;
    std::size_t filled = 0;
    for (std::size_t i = 0; i < kSparseWordInputs; ++i) {
      const Bits value = bits_at<Bits>(row, word * kSparseWordInputs + i);
      const std::uint64_t keeps = is_non_zero(value) ? 1 : 0;
      kept[filled] = value;
      filled += keeps;
      bits |= keeps << i;
    }
    std::memcpy(to + word * sizeof bits, &bits, sizeof bits);
    std::memcpy(values, kept, filled * sizeof(Bits));
    values += filled * sizeof(Bits);
  }
}

}  // namespace

std::size_t count_non_zeros(DType dtype, const std::byte* row, std::size_t in_features) {
  return dtype == DType::kF32 ? count<std::uint32_t>(row, in_features)
                              : count<std::uint16_t>(row, in_features);
}

std::size_t sparse_row_bytes(DType dtype, std::size_t in_features, std::size_t non_zeros) {
  const std::size_t value_bytes = dtype == DType::kF32 ? 4 : 2;
  return in_features / 8 + (non_zeros * value_bytes + 7) / 8 * 8;
}

void pack_sparse_row(DType dtype, const std::byte* row, std::size_t in_features, std::byte* to) {
  if (dtype == DType::kF32) {
    pack<std::uint32_t>(row, in_features, to);
  } else {
    pack<std::uint16_t>(row, in_features, to);
  }
}

}  // namespace tandem::device::cpu
