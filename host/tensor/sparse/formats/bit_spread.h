// SPDX-License-Identifier: Apache-2.0
//
// BitSpread: puts the lowest bits of an index at the places of a mask, the
// lowest at the lowest.
//
// The bit deposit instruction (pdep) does it where the CPU has it, else tables
// of 256 words for each byte of the index. Both give the same keys. Threads:
// any.
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

  // The index whose bits are at the places of the mask.
  std::uint64_t gathered(std::uint64_t key) const;

 private:
  std::uint64_t mask_;
  bool has_pdep_;
  std::vector<std::array<std::uint64_t, 256>> tables_;  // [bytes of an index]
};

}  // namespace tandem::sparse
