// SPDX-License-Identifier: Apache-2.0
//
// quantize_row() for AVX-512, AVX2, NEON and scalar, chosen at run time.
#include "cpu/kernels/quantized_products/quantized_rows.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/quantized_products/quantized_rows.cpp"
#include "hwy/foreach_target.h"
//
#include "cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kBlock = 32, kHalf = 16;
constexpr std::uint32_t kInfinity = 0x7f800000u, kNothing = 0x0d800000u;  // 2^-100
const hn::RebindToSigned<FloatTag> kI;

// The largest |x| as bits: magnitudes order like integers, NaN above infinity above all numbers.
HWY_INLINE std::uint32_t peak_bits(const float* x) {
  auto peak = hn::Zero(kI);
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    peak = hn::Max(peak, hn::And(hn::BitCast(kI, load(x + i)), hn::Set(kI, 0x7fffffff)));
  }
  return static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(kI, peak)));
}

// Returns the sum.
HWY_INLINE std::int32_t quantize_half(const float* x, float inverse, std::int8_t* q) {
  const hn::Rebind<std::int8_t, FloatTag> narrow;
  auto sum = hn::Zero(kI);
  for (std::size_t i = 0; i < kHalf; i += kLanes) {
    const auto rounded = hn::NearestInt(hn::Mul(load(x + i), broadcast(inverse)));
    hn::StoreU(hn::DemoteTo(narrow, rounded), narrow, q + i);
    sum = hn::Add(sum, rounded);
  }
  return hn::GetLane(hn::SumOfLanes(kI, sum));
}

void quantize_block(const float* x, std::size_t block, RowChunk& chunk) {
  std::int8_t* q = chunk.q + block * kBlock;
  const std::uint32_t bits = peak_bits(x);
  std::int32_t first = 0, sum = 0;
  float scale = 0.0f;
  if (bits < kNothing || bits >= kInfinity) {
    if (bits >= kInfinity) scale = std::bit_cast<float>(kInfinity | 0x400000u);
    std::memset(q, 0, kBlock);
  } else {
    const float peak = std::bit_cast<float>(bits), inverse = 127.0f / peak;
    first = quantize_half(x, inverse, q);
    sum = first + quantize_half(x + kHalf, inverse, q + kHalf);
    scale = peak / 127.0f;
  }
  chunk.scale[block] = scale;
  chunk.minus_sum[block] = -128 * sum;
  chunk.scaled_sum[block] = scale * static_cast<float>(sum);
  chunk.minus_first[block] = -128 * first;
}

}  // namespace

void quantize(const float* x, std::size_t count, RowChunk* chunks, std::size_t stride) {
  for (std::size_t i = 0; i < count; i += kBlock) {
    const std::size_t index = i / kBlock, block = index % kChunkBlocks;
    RowChunk& chunk = chunks[index / kChunkBlocks * stride];
    quantize_block(x + i, block, chunk);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::device::cpu {
HWY_EXPORT(quantize);

void quantize_row(const float* x, std::size_t count, RowChunk* chunks, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(quantize)(x, count, chunks, stride);
}

}  // namespace tandem::device::cpu
#endif  // HWY_ONCE
