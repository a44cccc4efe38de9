// SPDX-License-Identifier: Apache-2.0
//
// Readers of f32 and f16 weights as vectors of f32, in blocks of 32 values along a row, from the
// bytes of the model file.
//
// A reader has kBlockBytes and load(block, i): values i .. i + kLanes - 1. Blocks may have any
// address.
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
  static HWY_INLINE Vec load(const std::byte* block, std::size_t i) {
    return HWY_NAMESPACE::load(reinterpret_cast<const float*>(block) + i);
  }
};

struct ReadF16 {
  static constexpr std::size_t kBlockBytes = kBlock * 2;
  static HWY_INLINE Vec load(const std::byte* block, std::size_t i) {
    return load_f16(reinterpret_cast<const std::uint16_t*>(block) + i);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
