// SPDX-License-Identifier: Apache-2.0
//
// Checks once whether the CPU has the instruction. Only the functions that use it are compiled for
// it.
#include "tensor/sparse/formats/bit_spread.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace tandem::sparse {
namespace {

#ifdef __x86_64__
bool can_deposit() {
  static const bool can = __builtin_cpu_supports("bmi2") != 0;
  return can;
}
__attribute__((target("bmi2"))) std::uint64_t deposited(std::uint64_t index, std::uint64_t mask) {
  return _pdep_u64(index, mask);
}
template <typename Index>
__attribute__((target("bmi2"))) void deposit_all(std::uint64_t* keys,
                                                 std::span<const Index> indices,
                                                 std::uint64_t mask) {
  for (std::size_t i = 0; i < indices.size(); ++i) keys[i] |= _pdep_u64(indices[i], mask);
}
#else
bool can_deposit() { return false; }
std::uint64_t deposited(std::uint64_t, std::uint64_t) { return 0; }
template <typename Index>
void deposit_all(std::uint64_t*, std::span<const Index>, std::uint64_t) {}
#endif

// Bit by bit; for tables and for the way back.
std::uint64_t spread_bits(std::uint64_t index, std::uint64_t mask) {
  std::uint64_t key = 0;
  for (; mask != 0; mask &= mask - 1, index >>= 1) {
    if ((index & 1) != 0) key |= mask & -mask;
  }
  return key;
}

}  // namespace

BitSpread::BitSpread(std::uint64_t mask, With with)
    : mask_(mask), has_pdep_(with == With::kBest && can_deposit()) {
  if (has_pdep_) return;
  const auto bits = static_cast<std::size_t>(std::popcount(mask));
  for (std::size_t first = 0; first < bits; first += 8) {
    auto& table = tables_.emplace_back();
    for (std::uint64_t byte = 0; byte < 256; ++byte) table[byte] = spread_bits(byte << first, mask);
  }
}

std::uint64_t BitSpread::operator()(std::uint64_t index) const {
  if (has_pdep_) return deposited(index, mask_);
  std::uint64_t key = 0;
  for (std::size_t byte = 0; byte < tables_.size(); ++byte) {
    key |= tables_[byte][index >> (8 * byte) & 255];
  }
  return key;
}

void BitSpread::add_to(std::uint64_t* keys, std::span<const std::uint32_t> indices) const {
  if (has_pdep_) return deposit_all(keys, indices, mask_);
  for (std::size_t i = 0; i < indices.size(); ++i) keys[i] |= (*this)(indices[i]);
}

void BitSpread::add_to(std::uint64_t* keys, std::span<const std::uint64_t> indices) const {
  if (has_pdep_) return deposit_all(keys, indices, mask_);
  for (std::size_t i = 0; i < indices.size(); ++i) keys[i] |= (*this)(indices[i]);
}

std::uint64_t BitSpread::gathered(std::uint64_t key) const {
  std::uint64_t index = 0;
  int place = 0;
  for (std::uint64_t left = mask_; left != 0; left &= left - 1, ++place) {
    if ((key & left & -left) != 0) index |= std::uint64_t{1} << place;
  }
  return index;
}

}  // namespace tandem::sparse
