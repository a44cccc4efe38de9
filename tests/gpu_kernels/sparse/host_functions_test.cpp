// SPDX-License-Identifier: Apache-2.0
//
// The functions that kernels share with the host, compiled for the host: ownership against
// Partition::hashed, conversions against tensor/dtype.h, bit for bit.
#include <gtest/gtest.h>

#include <random>

#include "sparse/hashed_owners.h"
#include "sparse/wire_values.h"
#include "tensor/dtype.h"
#include "tensor/sparse/partition.h"

namespace tandem::gpu_kernels {
namespace {

TEST(HashedOwnersTest, GivesEveryUnitTheOwnerAndThePlaceThatPartitionGives) {
  std::mt19937_64 random(1);
  constexpr std::uint64_t kUnits = std::uint64_t{1} << 32;
  for (int num_owners = 1; num_owners <= kMaxOwners; ++num_owners) {
    const std::uint64_t seed = random();
    const HashedOwners owners = make_hashed_owners(num_owners, seed);
    const auto partition = sparse::Partition::hashed(kUnits, num_owners, seed);
    for (int draw = 0; draw < 400; ++draw) {
      const std::uint64_t last = 0xffffffffu - static_cast<std::uint64_t>(draw);
      for (const std::uint64_t unit : {random() % kUnits, std::uint64_t(draw), last}) {
        const Place place = place_of(owners, static_cast<std::uint32_t>(unit));
        ASSERT_EQ(place.owner, static_cast<std::uint32_t>(partition.owner(unit))) << unit;
        ASSERT_EQ(place.local, partition.local(unit)) << unit << " over " << num_owners;
        ASSERT_EQ(unit_at(owners, place), unit) << num_owners;
      }
    }
  }
}

TEST(HashedOwnersTest, DividesExactlyAroundEveryMultiple) {
  for (std::uint32_t num_owners = 1; num_owners <= kMaxOwners; ++num_owners) {
    const HashedOwners owners = make_hashed_owners(static_cast<int>(num_owners), 0);
    for (std::uint64_t multiple = 0; multiple < (std::uint64_t{1} << 32);
         multiple += num_owners * std::uint64_t{7'654'321}) {
      for (int offset = -1; offset <= 1; ++offset) {
        const auto unit = static_cast<std::uint32_t>(multiple + static_cast<std::uint64_t>(offset));
        ASSERT_EQ(place_of(owners, unit).local, unit / num_owners) << unit << "/" << num_owners;
      }
    }
  }
}

TEST(WireValuesTest, WidensEveryHalfAsTheHostDoes) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(bits_of(widen(F16{half})), bits_of(f16_to_f32(half))) << bits;
    ASSERT_EQ(bits_of(widen(BF16{half})), bits_of(bf16_to_f32(half))) << bits;
  }
}

TEST(FloatsTest, WidensEveryE4M3AsTheHostDoes) {
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    const auto code = static_cast<std::uint8_t>(bits);
    ASSERT_EQ(bits_of(widen(E4M3{code})), bits_of(f8_to_f32(code))) << bits;
  }
}

TEST(FloatsTest, NarrowsToE4M3AsTheHostDoes) {
  std::mt19937 random(3);
  for (int draw = 0; draw < 2'000'000; ++draw) {
    // three of four near e4m3's range, of them one between its least values and zero
    std::uint32_t bits = static_cast<std::uint32_t>(random());
    if (draw % 4 != 0) bits = (bits & 0x87ffffffu) | (draw % 4 == 1 ? 0x38000000u : 0x40000000u);
    E4M3 narrowed;
    narrow(float_of(bits), narrowed);
    ASSERT_EQ(narrowed.bits, f32_to_f8(float_of(bits))) << std::hex << bits;
  }
}

TEST(WireValuesTest, NarrowsAsTheHostDoes) {
  std::mt19937 random(2);
  for (int draw = 0; draw < 2'000'000; ++draw) {
    // half of the draws near f16's range, where the roundings are
    const std::uint32_t bits =
        draw % 2 == 0 ? static_cast<std::uint32_t>(random())
                      : (static_cast<std::uint32_t>(random()) & 0x8fffffffu) | 0x30000000u;
    const float value = float_of(bits);
    F16 half;
    BF16 brain;
    narrow(value, half);
    narrow(value, brain);
    ASSERT_EQ(half.bits, f32_to_f16(value)) << std::hex << bits;
    ASSERT_EQ(brain.bits, f32_to_bf16(value)) << std::hex << bits;
  }
}

}  // namespace
}  // namespace tandem::gpu_kernels
