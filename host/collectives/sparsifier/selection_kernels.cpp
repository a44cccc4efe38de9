// SPDX-License-Identifier: Apache-2.0
//
// Highway where the result is compressed; plain loops over 16 partial sums elsewhere, which the
// compiler turns into vectors of each instruction set. The product of two f32 is exact in f64, so
// a fused multiply-add changes no bit. A sum of logarithms is the sum of the exponents and the
// logarithm of the product of the mantissas: below 2^256 for a block, which f64 holds.
#include "collectives/sparsifier/selection_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/sparsifier/selection_kernels.cpp"
#include "hwy/foreach_target.h"
//
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::collectives {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kLanes = 16;
constexpr std::size_t kReadAhead = 1024;
constexpr std::uint32_t kMagnitude = 0x7fffffffu;
constexpr std::uint32_t kInfinity = 0x7f800000u;
constexpr std::uint32_t kOne = 0x3f800000u;
constexpr std::uint32_t kSmallestNormal = 0x00800000u;

void add(float* HWY_RESTRICT to, const float* HWY_RESTRICT from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

void velocity(MomentumStep step, float* HWY_RESTRICT velocity, float* HWY_RESTRICT to,
              const float* HWY_RESTRICT gradient, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    velocity[i] = step.momentum * velocity[i] + step.scale * gradient[i];
    to[i] += velocity[i];
  }
}

std::size_t non_finite(const float* values, std::size_t count) {
  constexpr std::size_t kBlock = 4096;
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t end = std::min(count, first + kBlock);
    std::uint32_t largest = 0;
    for (std::size_t i = first; i < end; ++i) {
      largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & kMagnitude);
    }
    if (largest < kInfinity) continue;
    for (std::size_t i = first; i < end; ++i) {
      if (!std::isfinite(values[i])) return i;
    }
  }
  return count;
}

// Runs of 64 small values are passed over.
std::size_t large(const float* values, std::size_t count, float threshold, std::uint32_t first,
                  std::uint32_t* HWY_RESTRICT to) {
  const hn::CappedTag<float, 16> tag;
  const hn::RebindToUnsigned<decltype(tag)> index_tag;
  const std::size_t lanes = hn::Lanes(tag);
  const auto least = hn::Set(tag, threshold);
  const auto lane_numbers = hn::Iota(index_tag, 0);
  constexpr std::size_t kRun = 64;
  std::size_t end = 0, at = 0;
  for (; at + kRun <= count; at += kRun) {
    auto most = hn::Zero(tag);
    for (std::size_t i = 0; i < kRun; i += lanes) {
      if (i % 16 == 0) __builtin_prefetch(values + at + i + kReadAhead, 0, 2);  // no access
      most = hn::Max(most, hn::Abs(hn::LoadU(tag, values + at + i)));
    }
    if (hn::AllFalse(tag, hn::Ge(most, least))) continue;
    for (std::size_t i = 0; i < kRun; i += lanes) {
      const auto here = hn::Ge(hn::Abs(hn::LoadU(tag, values + at + i)), least);
      const auto mask = hn::RebindMask(index_tag, here);
      const auto places =
          hn::Add(lane_numbers, hn::Set(index_tag, first + static_cast<std::uint32_t>(at + i)));
      hn::StoreU(hn::Compress(places, mask), index_tag, to + end);
      end += hn::CountTrue(tag, here);
    }
  }
  for (; at < count; ++at) {
    to[end] = first + static_cast<std::uint32_t>(at);
    end += std::fabs(values[at]) >= threshold ? 1 : 0;
  }
  return end;
}

template <bool kLogarithms>
Moments moments_of(const float* HWY_RESTRICT values, std::size_t count) {
  std::array<double, kLanes> sum{}, signed_sum{}, squares{}, product;
  std::array<std::uint32_t, kLanes> largest{}, exponents{}, positive{};
  product.fill(1);
  const auto take = [&](std::size_t lane, float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & kMagnitude;
    const double magnitude = std::bit_cast<float>(bits);
    sum[lane] += magnitude;
    signed_sum[lane] += static_cast<double>(value);
    squares[lane] += magnitude * magnitude;
    largest[lane] = std::max(largest[lane], bits);
    if constexpr (kLogarithms) {
      const bool normal = bits >= kSmallestNormal;
      exponents[lane] += normal ? bits >> 23 : 0u;
      positive[lane] += normal ? 1u : 0u;
      product[lane] *= std::bit_cast<float>(normal ? (bits & 0x007fffffu) | kOne : kOne);
    }
  };
  std::size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) take(lane, values[at + lane]);
  }
  for (std::size_t lane = 0; at + lane < count; ++lane) take(lane, values[at + lane]);
  Moments total;
  total.count = count;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    total.sum += sum[lane];
    total.signed_sum += signed_sum[lane];
    total.squares += squares[lane];
    total.largest = std::max(total.largest, std::bit_cast<float>(largest[lane]));
    if constexpr (!kLogarithms) continue;
    total.positive += positive[lane];
    const double exponent = static_cast<double>(exponents[lane]) - 127.0 * positive[lane];
    total.log_sum += exponent * 0.69314718055994530942 + std::log(product[lane]);
  }
  return total;
}

Moments moments(const float* values, std::size_t count) { return moments_of<false>(values, count); }

Moments moments_and_logarithms(const float* values, std::size_t count) {
  return moments_of<true>(values, count);
}

std::uint32_t read_all(const float* values, std::size_t count) {
  const hn::CappedTag<std::uint32_t, 16> tag;
  const auto* bits = reinterpret_cast<const std::uint32_t*>(values);
  const std::size_t lanes = hn::Lanes(tag);
  auto first = hn::Zero(tag), second = first, third = first, fourth = first;
  std::size_t at = 0;
  for (; at + 4 * lanes <= count; at += 4 * lanes) {
    __builtin_prefetch(values + at + kReadAhead, 0, 2);  // may be after the end: no access
    first = hn::Xor(first, hn::LoadU(tag, bits + at));
    second = hn::Xor(second, hn::LoadU(tag, bits + at + lanes));
    third = hn::Xor(third, hn::LoadU(tag, bits + at + 2 * lanes));
    fourth = hn::Xor(fourth, hn::LoadU(tag, bits + at + 3 * lanes));
  }
  std::array<std::uint32_t, 16> all{};
  hn::StoreU(hn::Xor(hn::Xor(first, second), hn::Xor(third, fourth)), tag, all.data());
  std::uint32_t result = 0;
  for (const std::uint32_t lane : all) result ^= lane;
  for (; at < count; ++at) result ^= bits[at];
  return result;
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::collectives
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::collectives {
HWY_EXPORT(add);
HWY_EXPORT(velocity);
HWY_EXPORT(non_finite);
HWY_EXPORT(large);
HWY_EXPORT(moments);
HWY_EXPORT(moments_and_logarithms);
HWY_EXPORT(read_all);

void Moments::add(const Moments& other) {
  sum += other.sum;
  signed_sum += other.signed_sum;
  squares += other.squares;
  log_sum += other.log_sum;
  positive += other.positive;
  count += other.count;
  largest = std::max(largest, other.largest);
}

void add_gradient(float* to, const float* from, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(add)(to, from, count);
}

void add_velocity(MomentumStep step, float* velocity, float* to, const float* gradient,
                  std::size_t count) {
  HWY_DYNAMIC_DISPATCH(velocity)(step, velocity, to, gradient, count);
}

std::size_t find_non_finite(const float* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(non_finite)(values, count);
}

std::size_t find_large(const float* values, std::size_t count, float threshold, std::uint32_t first,
                       std::uint32_t* to) {
  return HWY_DYNAMIC_DISPATCH(large)(values, count, threshold, first, to);
}

Moments measure_moments(const float* values, std::size_t count, Logarithms logarithms) {
  return logarithms == Logarithms::kYes
             ? HWY_DYNAMIC_DISPATCH(moments_and_logarithms)(values, count)
             : HWY_DYNAMIC_DISPATCH(moments)(values, count);
}

std::uint32_t read_plainly(const float* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(read_all)(values, count);
}

}  // namespace tandem::collectives
#endif  // HWY_ONCE
