// SPDX-License-Identifier: Apache-2.0
//
// Bits go through a 64-bit register, whole bytes at a time.
#include "tensor/sparse/packed_chunk.h"

#include <cmath>
#include <cstring>

#include "common/error.h"

namespace tandem::sparse {
namespace {

constexpr int kPlaceBits = 12, kCodeBits = 2;
constexpr std::size_t kLevelBytes = 2 * sizeof(float);

class BitWriter {
 public:
  explicit BitWriter(std::byte* to) : to_(to) {}
  void put(std::uint32_t value, int bits) {
    held_ |= std::uint64_t{value} << num_held_;
    for (num_held_ += bits; num_held_ >= 8; num_held_ -= 8, held_ >>= 8) {
      *to_++ = static_cast<std::byte>(held_);
    }
  }
  void finish() {
    if (num_held_ > 0) *to_++ = static_cast<std::byte>(held_);
  }

 private:
  std::byte* to_;
  std::uint64_t held_ = 0;
  int num_held_ = 0;
};

class BitReader {
 public:
  explicit BitReader(const std::byte* from) : from_(from) {}
  std::uint32_t get(int bits) {
    for (; num_held_ < bits; num_held_ += 8) {
      held_ |= static_cast<std::uint64_t>(*from_++) << num_held_;
    }
    const auto value = static_cast<std::uint32_t>(held_ & ((std::uint64_t{1} << bits) - 1));
    held_ >>= bits;
    num_held_ -= bits;
    return value;
  }

 private:
  const std::byte* from_;
  std::uint64_t held_ = 0;
  int num_held_ = 0;
};

struct Levels {
  float lower, upper;
  double split;
};

Levels levels_of(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += std::fabs(value);
  const double split = sum / static_cast<double>(values.size());
  double below = 0, above = 0;
  std::size_t num_below = 0, num_above = 0;
  for (const float value : values) {
    const double magnitude = std::fabs(value);
    (magnitude < split ? below : above) += magnitude;
    ++(magnitude < split ? num_below : num_above);
  }
  const auto mean = [&](double total, std::size_t count) {
    return static_cast<float>(count > 0 ? total / static_cast<double>(count) : split);
  };
  return {mean(below, num_below), mean(above, num_above), split};
}

}  // namespace

std::size_t packed_chunk_bytes(std::size_t count) {
  return kLevelBytes + (count * (kPlaceBits + kCodeBits) + 7) / 8;
}

void pack_chunk(std::span<const std::uint16_t> places, std::span<const float> values,
                std::span<std::byte> to) {
  TANDEM_CHECK_OP(to.size(), ==, packed_chunk_bytes(values.size()));
  const Levels levels = levels_of(values);
  std::memcpy(to.data(), &levels.lower, sizeof(float));
  std::memcpy(to.data() + sizeof(float), &levels.upper, sizeof(float));
  BitWriter bits(to.data() + kLevelBytes);
  for (const std::uint16_t place : places) bits.put(place, kPlaceBits);
  for (const float value : values) {
    const std::uint32_t sign = std::signbit(value) ? 1 : 0;
    const std::uint32_t upper = std::fabs(static_cast<double>(value)) >= levels.split ? 2 : 0;
    bits.put(sign | upper, kCodeBits);
  }
  bits.finish();
}

void unpack_chunk(std::span<const std::byte> from, std::span<std::uint16_t> places,
                  std::span<float> values) {
  TANDEM_CHECK_OP(from.size(), ==, packed_chunk_bytes(values.size()));
  float levels[2];
  std::memcpy(levels, from.data(), sizeof(levels));
  BitReader bits(from.data() + kLevelBytes);
  for (std::uint16_t& place : places) place = static_cast<std::uint16_t>(bits.get(kPlaceBits));
  for (float& value : values) {
    const std::uint32_t code = bits.get(kCodeBits);
    const float level = levels[code >> 1];
    value = (code & 1) != 0 ? -level : level;
  }
}

}  // namespace tandem::sparse
