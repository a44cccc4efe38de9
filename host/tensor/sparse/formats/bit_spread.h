// SPDX-License-Identifier: Apache-2.0
//
// BitSpread: moves the low bits of an index to the bit positions of a mask, in order.
//
// Uses the bit deposit instruction (pdep) if the CPU has it, otherwise a table of 256 words for
// each byte of the index. Both give the same keys. Threads: any.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tandem::sparse {

class BitSpread {
 public:
  enum class With : std::uint8_t { kBest, kTables };

  explicit BitSpread(std::uint64_t mask, With with = With::kBest);

  std::uint64_t operator()(std::uint64_t index) const;

  // keys[i] |= the spread bits of indices[i]. keys: as many as indices.
  void add_to(std::uint64_t* keys, std::span<const std::uint32_t> indices) const;
  void add_to(std::uint64_t* keys, std::span<const std::uint64_t> indices) const;

  // The inverse: the index whose bits are at the positions of the mask.
  std::uint64_t gathered(std::uint64_t key) const;

 private:
  std::uint64_t mask_;
  bool has_pdep_;
  std::vector<std::array<std::uint64_t, 256>> tables_;  // [bytes of an index]
};

}  // namespace tandem::sparse
