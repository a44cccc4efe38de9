// SPDX-License-Identifier: Apache-2.0
//
// How each weight type is read as vectors of f32, in blocks of 32 values along a row, straight from
// the bytes of the model file.
//
// A reader states kBlockBytes, load(block, i): values i .. i + kLanes - 1 without their scale, and,
// where kScaled, scale(block) in every lane. Blocks may lie at any address.
#if defined(TANDEM_CPU_WEIGHTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_CPU_WEIGHTS_INL_H_
#undef TANDEM_CPU_WEIGHTS_INL_H_
#else
#define TANDEM_CPU_WEIGHTS_INL_H_
#endif

#include "cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {

inline constexpr std::size_t kBlock = 32;

struct ReadF32 {
  static constexpr std::size_t kBlockBytes = kBlock * 4;
  static constexpr bool kScaled = false;
  static HWY_INLINE Vec load(const std::byte* block, std::size_t i) {
    return HWY_NAMESPACE::load(reinterpret_cast<const float*>(block) + i);
  }
};

struct ReadF16 {
  static constexpr std::size_t kBlockBytes = kBlock * 2;
  static constexpr bool kScaled = false;
  static HWY_INLINE Vec load(const std::byte* block, std::size_t i) {
    return load_f16(reinterpret_cast<const std::uint16_t*>(block) + i);
  }
};

struct ReadBF16 {
  static constexpr std::size_t kBlockBytes = kBlock * 2;
  static constexpr bool kScaled = false;
  static HWY_INLINE Vec load(const std::byte* block, std::size_t i) {
    return load_bf16(reinterpret_cast<const std::uint16_t*>(block) + i);
  }
};

HWY_INLINE Vec block_scale(const std::byte* block) {
  std::uint16_t bits;
  std::memcpy(&bits, block, sizeof(bits));
  return broadcast_f16(bits);
}

struct ReadQ8_0 {
  static constexpr std::size_t kBlockBytes = sizeof(BlockQ8_0);
  static constexpr bool kScaled = true;
  static HWY_INLINE Vec load(const std::byte* block, std::size_t i) {
    return load_i8(reinterpret_cast<const std::int8_t*>(block) + 2 + i);
  }
  static HWY_INLINE Vec scale(const std::byte* block) { return block_scale(block); }
};

struct ReadQ4_0 {
  static constexpr std::size_t kBlockBytes = sizeof(BlockQ4_0);
  static constexpr bool kScaled = true;
  static HWY_INLINE Vec load(const std::byte* block, std::size_t i) {
    const hn::Rebind<std::uint8_t, FloatTag> bytes;
    const hn::RebindToSigned<FloatTag> wide;
    const auto pair =
        hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(block) + 2 + i % (kBlock / 2));
    const auto both = hn::PromoteTo(wide, pair);
    const auto nibble = i < kBlock / 2 ? hn::And(both, hn::Set(wide, 15)) : hn::ShiftRight<4>(both);
    return hn::ConvertTo(kF, hn::Sub(nibble, hn::Set(wide, 8)));
  }
  static HWY_INLINE Vec scale(const std::byte* block) { return block_scale(block); }
};

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
