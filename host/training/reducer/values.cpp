// SPDX-License-Identifier: Apache-2.0
//
// f32 goes through the kernels of the sparsifiers and of the wire types; f64 is rare and plain.
#include "training/reducer/values.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "collectives/sparsifier/selection_kernels.h"
#include "tensor/sparse/wire_values.h"

namespace tandem::training {
namespace {

template <typename T>
void clip_values(std::span<T> values) {
  T largest = 0;
  for (const T value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  for (T& value : values) {
    value = std::isnan(value) ? T{0} : std::clamp(value, -largest, largest);
  }
}

// Calls body(span) with the type's span.
template <typename Body>
void visit_values(void* values, std::uint64_t count, DType type, Body&& body) {
  switch (type) {
    case DType::kF64:
      body(std::span(static_cast<double*>(values), count));
      break;
    case DType::kF32:
      body(std::span(static_cast<float*>(values), count));
      break;
    default:
      body(std::span(static_cast<std::uint16_t*>(values), count));
  }
}

}  // namespace

bool is_16_bit(DType type) { return type == DType::kF16 || type == DType::kBF16; }

std::size_t bytes_of(DType type) {
  if (is_16_bit(type)) return 2;
  return type == DType::kF64 ? 8 : 4;
}

std::optional<std::uint64_t> first_non_finite(const void* values, std::uint64_t count, DType type) {
  if (type == DType::kF64) {
    const std::span all(static_cast<const double*>(values), count);
    const auto at = std::ranges::find_if(all, [](double value) { return !std::isfinite(value); });
    if (at == all.end()) return std::nullopt;
    return static_cast<std::uint64_t>(at - all.begin());
  }
  const std::size_t at = collectives::find_non_finite(static_cast<const float*>(values), count);
  if (at == count) return std::nullopt;
  return at;
}

void clip(void* values, std::uint64_t count, DType type) {
  visit_values(values, count, type, [](auto span) {
    using T = typename decltype(span)::value_type;
    if constexpr (!std::is_same_v<T, std::uint16_t>) clip_values<T>(span);
  });
}

void fill(void* values, std::uint64_t count, DType type, double value) {
  visit_values(values, count, type, [&](auto span) {
    using T = typename decltype(span)::value_type;
    if constexpr (std::is_same_v<T, std::uint16_t>) {
      const auto wide = static_cast<float>(value);
      std::ranges::fill(span, type == DType::kF16 ? f32_to_f16(wide) : f32_to_bf16(wide));
    } else {
      std::ranges::fill(span, static_cast<T>(value));
    }
  });
}

void widen(const void* narrow, std::uint64_t count, DType type, float* wide) {
  sparse::load_wire(static_cast<const std::byte*>(narrow), count, DType::kF32, type,
                    reinterpret_cast<std::byte*>(wide));
}

namespace {

// A mean outside the range of f16 is clipped: the excess is in the residuals.
void narrow_to_f16(const float* wide, std::uint64_t count, std::byte* narrow) {
  constexpr std::uint64_t kBlock = 1024;
  std::array<float, kBlock> block;
  for (std::uint64_t begin = 0; begin < count; begin += kBlock) {
    const std::uint64_t size = std::min(kBlock, count - begin);
    for (std::uint64_t i = 0; i < size; ++i) {
      block[i] = std::clamp(wide[begin + i], -kMostF16, kMostF16);
    }
    sparse::store_wire(reinterpret_cast<const std::byte*>(block.data()), size, DType::kF32,
                       DType::kF16, narrow + begin * sizeof(std::uint16_t));
  }
}

}  // namespace

void narrow(const float* wide, std::uint64_t count, DType type, void* narrow) {
  if (type == DType::kF16) return narrow_to_f16(wide, count, static_cast<std::byte*>(narrow));
  sparse::store_wire(reinterpret_cast<const std::byte*>(wide), count, DType::kF32, type,
                     static_cast<std::byte*>(narrow));
}

}  // namespace tandem::training
