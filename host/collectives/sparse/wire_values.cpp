// SPDX-License-Identifier: Apache-2.0
#include "collectives/sparse/wire_values.h"

#include <cstring>

#include "common/error.h"

namespace tandem::collectives {
namespace {

template <typename T>
T load_unaligned(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void store_unaligned(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

}  // namespace

bool can_carry(DType type, DType wire) {
  return wire == type || (type == DType::kF32 && (wire == DType::kF16 || wire == DType::kBF16));
}

void store_wire(const std::byte* from, std::size_t num_values, DType type, DType wire,
                std::byte* to) {
  TANDEM_CHECK(can_carry(type, wire));
  if (wire == type) {
    std::memcpy(to, from, num_values * dtype_block_bytes(type));
    return;
  }
  for (std::size_t i = 0; i < num_values; ++i) {
    const float value = load_unaligned<float>(from + i * 4);
    store_unaligned(to + i * 2, wire == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value));
  }
}

void load_wire(const std::byte* from, std::size_t num_values, DType type, DType wire,
               std::byte* to) {
  TANDEM_CHECK(can_carry(type, wire));
  if (wire == type) {
    std::memcpy(to, from, num_values * dtype_block_bytes(type));
    return;
  }
  for (std::size_t i = 0; i < num_values; ++i) {
    const auto value = load_unaligned<std::uint16_t>(from + i * 2);
    store_unaligned(to + i * 4, wire == DType::kF16 ? f16_to_f32(value) : bf16_to_f32(value));
  }
}

void round_values(float* values, std::size_t num_values, DType wire) {
  for (std::size_t i = 0; i < num_values; ++i) {
    values[i] = wire == DType::kF16 ? f16_to_f32(f32_to_f16(values[i]))
                                    : bf16_to_f32(f32_to_bf16(values[i]));
  }
}

}  // namespace tandem::collectives
