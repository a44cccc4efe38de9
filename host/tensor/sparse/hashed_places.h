// SPDX-License-Identifier: Apache-2.0
//
// Kernels over many units at once: the mapping of a hashed partition (narrow domains), and the
// search for values that are not zero.
//
// The mapping is Partition's, bit for bit. Outputs are written in whole vectors: see kSlack.
// Threads: any. Cost: places_of about one ns per unit and core, find_values at memory speed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::sparse {

// Number of entries that find_values, find_offsets and bit_places_of may write after their last
// one.
constexpr std::size_t kSlack = 64;

// The two parts of Partition::hashed that all its code shares: mix() is a finaliser of the
// splitmix64 family, rotation() maps it to 0 .. num_owners - 1.
constexpr std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}
// The high word of mix * num_owners, computed in parts that fit vector instructions; num_owners
// below 2^32.
constexpr std::uint64_t rotation(std::uint64_t group, std::uint64_t seed,
                                 std::uint64_t num_owners) {
  const std::uint64_t mixed = mix(group + seed);
  return ((mixed >> 32) * num_owners + (((mixed & 0xffffffffu) * num_owners) >> 32)) >> 32;
}

struct HashedOwners {
  std::uint32_t num_owners = 1;
  std::uint64_t seed = 0;
};

// owners, locals: [count], of units: [count].
void places_of(const HashedOwners& hashed, const std::uint32_t* units, std::size_t count,
               std::uint32_t* owners, std::uint32_t* locals);

// The inverse for one owner's locals. units: [count].
void units_of(const HashedOwners& hashed, std::uint32_t owner, const std::uint32_t* locals,
              std::size_t count, std::uint32_t* units);

// Finds the values that are neither +0 nor -0 (a NaN is found) and writes first + their positions.
// Returns their number. values: [count]; units, found: [count + kSlack].
std::size_t find_values(const float* values, std::size_t count, std::uint32_t first,
                        std::uint32_t* units, float* found);

// Writes only their positions in `values`. count: at most 65,536; offsets: [count + kSlack].
std::size_t find_offsets(const float* values, std::size_t count, std::uint16_t* offsets);

// The number of 64-bit words per owner in a table of bits for 512 consecutive groups.
constexpr std::size_t kBitWords = 8;

// Arrays of [count + kSlack]. The bit of unit i is bits[i] of table word words[i], in a table of
// kBitWords words per owner that starts at a multiple of 512 groups.
struct BitPlaces {
  std::uint32_t* owners;
  std::uint32_t* words;
  std::uint64_t* bits;
};

// Computes the bit positions of the units first + offsets[i]. offsets: [count + kSlack].
void bit_places_of(const HashedOwners& hashed, std::uint32_t first, const std::uint16_t* offsets,
                   std::size_t count, const BitPlaces& places);

}  // namespace tandem::sparse
