// SPDX-License-Identifier: Apache-2.0
//
// HashedOwners maps each unit to one of n owners, and to an index among the units of that owner.
//
// This is the mapping of balanced parallelism. A group is n consecutive units, and each owner gets
// exactly one unit of a group: owner = (unit + h(group)) mod n, local index = group. The numbers
// must equal those of Partition::hashed in host/tensor/sparse, which does not depend on this
// folder. A test compiles these functions for the host and compares the two. Shapes: units below
// 2^32, 1 <= n <= 256. Threads: a value type; any. Cost: two 64-bit products for the hash, and one
// 32-bit product in place of the division (Granlund and Montgomery, PLDI 1994). Source: Wang et
// al., ZEN, OSDI 2025, section 3 (h0).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tandem::gpu_kernels {

constexpr int kMaxOwners = 256;

struct HashedOwners {
  std::uint64_t seed = 0;
  std::uint32_t num_owners = 1;
  std::uint32_t multiplier = 1;  // unit / num_owners = (t + ((unit - t) >> first)) >> second,
  std::uint32_t first = 0;       // t = high word of multiplier * unit
  std::uint32_t second = 0;
};

struct Place {
  std::uint32_t owner;
  std::uint32_t local;
};

// num_owners: 1..kMaxOwners.
inline HashedOwners make_hashed_owners(int num_owners, std::uint64_t seed) {
  HashedOwners owners;
  owners.seed = seed;
  owners.num_owners = static_cast<std::uint32_t>(num_owners);
  std::uint32_t log2_ceil = 0;
  while ((std::uint64_t{1} << log2_ceil) < owners.num_owners) ++log2_ceil;
  const std::uint64_t excess = (std::uint64_t{1} << log2_ceil) - owners.num_owners;
  owners.multiplier = static_cast<std::uint32_t>((excess << 32) / owners.num_owners + 1);
  owners.first = log2_ceil > 0 ? 1 : 0;
  owners.second = log2_ceil > 0 ? log2_ceil - 1 : 0;
  return owners;
}

// The rotation h(group), 0 .. num_owners - 1: the high word of mix(group + seed) * num_owners.
__host__ __device__ inline std::uint32_t rotation_of(const HashedOwners& owners,
                                                     std::uint32_t group) {
  std::uint64_t value = group + owners.seed;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  value ^= value >> 31;
  const std::uint64_t low = (value & 0xffffffffu) * owners.num_owners;
  return static_cast<std::uint32_t>(((value >> 32) * owners.num_owners + (low >> 32)) >> 32);
}

__host__ __device__ inline Place place_of(const HashedOwners& owners, std::uint32_t unit) {
  const auto high =
      static_cast<std::uint32_t>((static_cast<std::uint64_t>(owners.multiplier) * unit) >> 32);
  const std::uint32_t group = (high + ((unit - high) >> owners.first)) >> owners.second;
  const std::uint32_t sum = unit - group * owners.num_owners + rotation_of(owners, group);
  return {sum >= owners.num_owners ? sum - owners.num_owners : sum, group};
}

// The unit at a place: the inverse of place_of().
__host__ __device__ inline std::uint32_t unit_at(const HashedOwners& owners, Place place) {
  const std::uint32_t rotation = rotation_of(owners, place.local);
  const std::uint32_t offset =
      place.owner >= rotation ? place.owner - rotation : place.owner + owners.num_owners - rotation;
  return place.local * owners.num_owners + offset;
}

}  // namespace tandem::gpu_kernels
