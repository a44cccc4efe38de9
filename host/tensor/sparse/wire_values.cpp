// SPDX-License-Identifier: Apache-2.0
//
// For AVX-512, AVX2 and the baseline, chosen at run time. f16 uses the conversion instructions of
// the target, if any. bf16 uses integer arithmetic, because the instruction of some CPUs flushes
// subnormals. Values that do not fill a vector use the scalar conversions.
#include "tensor/sparse/wire_values.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/sparse/wire_values.cpp"
#include "hwy/foreach_target.h"
//
#include <cstring>

#include "common/error.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::sparse {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, 16>;
using BitsTag = hn::RebindToUnsigned<FloatTag>;
using HalfTag = hn::Rebind<hwy::float16_t, FloatTag>;
using NarrowTag = hn::Rebind<std::uint16_t, FloatTag>;
constexpr FloatTag kFloat;
constexpr BitsTag kBits;
constexpr HalfTag kHalf;
constexpr NarrowTag kNarrow;

#if HWY_TARGET == HWY_SCALAR
constexpr bool kVectors = false;  // it lacks some of the operations below
#else
constexpr bool kVectors = true;
#endif

template <typename Floats>
HWY_INLINE auto to_f16(Floats value) {
  const auto bits = hn::BitCast(kBits, value);
  const auto sign = hn::ShiftLeft<15>(hn::ShiftRight<31>(bits));
  const auto nan = hn::TruncateTo(kNarrow, hn::Or(sign, hn::Set(kBits, 0x7e00u)));
  const auto half = hn::BitCast(kNarrow, hn::DemoteTo(kHalf, value));
  // The instruction keeps a NaN's payload; every NaN of one sign shall have the same bits.
  const auto magnitude = hn::And(half, hn::Set(kNarrow, std::uint16_t{0x7fff}));
  const auto is_nan = hn::Gt(magnitude, hn::Set(kNarrow, std::uint16_t{0x7c00}));
  return hn::IfThenElse(is_nan, nan, half);
}

template <typename Floats>
HWY_INLINE auto to_bf16(Floats value) {
  const auto bits = hn::BitCast(kBits, value);
  const auto high = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(high, hn::Set(kBits, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(kBits, 0x7fffu)), odd));
  const auto quiet = hn::Or(high, hn::Set(kBits, 0x40u));
  const auto is_nan =
      hn::Gt(hn::And(bits, hn::Set(kBits, 0x7fffffffu)), hn::Set(kBits, 0x7f800000u));
  return hn::TruncateTo(kNarrow, hn::IfThenElse(is_nan, quiet, rounded));
}

template <typename Narrow>
HWY_INLINE auto from_f16(Narrow half) {
  return hn::PromoteTo(kFloat, hn::BitCast(kHalf, half));
}

template <typename Narrow>
HWY_INLINE auto from_bf16(Narrow half) {
  return hn::BitCast(kFloat, hn::ShiftLeft<16>(hn::PromoteTo(kBits, half)));
}

// These return how many values they did: whole vectors.
std::size_t narrow(const float* from, std::size_t count, bool f16, std::uint16_t* to) {
  std::size_t at = 0;
  if constexpr (kVectors) {
    const std::size_t lanes = hn::Lanes(kFloat);
    for (; at + lanes <= count; at += lanes) {
      const auto value = hn::LoadU(kFloat, from + at);
      hn::StoreU(f16 ? to_f16(value) : to_bf16(value), kNarrow, to + at);
    }
  }
  return at;
}

std::size_t widen(const std::uint16_t* from, std::size_t count, bool f16, float* to) {
  std::size_t at = 0;
  if constexpr (kVectors) {
    const std::size_t lanes = hn::Lanes(kFloat);
    for (; at + lanes <= count; at += lanes) {
      const auto half = hn::LoadU(kNarrow, from + at);
      hn::StoreU(f16 ? from_f16(half) : from_bf16(half), kFloat, to + at);
    }
  }
  return at;
}

std::size_t round(float* values, std::size_t count, bool f16) {
  std::size_t at = 0;
  if constexpr (kVectors) {
    const std::size_t lanes = hn::Lanes(kFloat);
    for (; at + lanes <= count; at += lanes) {
      const auto value = hn::LoadU(kFloat, values + at);
      hn::StoreU(f16 ? from_f16(to_f16(value)) : from_bf16(to_bf16(value)), kFloat, values + at);
    }
  }
  return at;
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::sparse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::sparse {
HWY_EXPORT(narrow);
HWY_EXPORT(widen);
HWY_EXPORT(round);

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
  const bool f16 = wire == DType::kF16;
  // The kernels' loads and stores are unaligned.
  std::size_t at = HWY_DYNAMIC_DISPATCH(narrow)(reinterpret_cast<const float*>(from), num_values,
                                                f16, reinterpret_cast<std::uint16_t*>(to));
  for (; at < num_values; ++at) {
    float value;
    std::memcpy(&value, from + at * 4, 4);
    const std::uint16_t half = f16 ? f32_to_f16(value) : f32_to_bf16(value);
    std::memcpy(to + at * 2, &half, 2);
  }
}

void load_wire(const std::byte* from, std::size_t num_values, DType type, DType wire,
               std::byte* to) {
  TANDEM_CHECK(can_carry(type, wire));
  if (wire == type) {
    std::memcpy(to, from, num_values * dtype_block_bytes(type));
    return;
  }
  const bool f16 = wire == DType::kF16;
  std::size_t at = HWY_DYNAMIC_DISPATCH(widen)(reinterpret_cast<const std::uint16_t*>(from),
                                               num_values, f16, reinterpret_cast<float*>(to));
  for (; at < num_values; ++at) {
    std::uint16_t half;
    std::memcpy(&half, from + at * 2, 2);
    const float value = f16 ? f16_to_f32(half) : bf16_to_f32(half);
    std::memcpy(to + at * 4, &value, 4);
  }
}

void round_values(float* values, std::size_t num_values, DType wire) {
  const bool f16 = wire == DType::kF16;
  std::size_t at = HWY_DYNAMIC_DISPATCH(round)(values, num_values, f16);
  for (; at < num_values; ++at) {
    values[at] = f16 ? f16_to_f32(f32_to_f16(values[at])) : bf16_to_f32(f32_to_bf16(values[at]));
  }
}

}  // namespace tandem::sparse
#endif  // HWY_ONCE
