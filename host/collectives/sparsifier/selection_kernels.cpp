// SPDX-License-Identifier: Apache-2.0
//
// Highway where the result is compressed; plain loops over 16 partial sums elsewhere, which the
// compiler turns into vectors of each instruction set. A sum of logarithms is the sum of the
// exponents and the logarithm of the product of the mantissas: below 2^256 for a block, which f64
// holds.
#include "collectives/sparsifier/selection_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/sparsifier/selection_kernels.cpp"
#include "hwy/foreach_target.h"
//
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <type_traits>

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

struct Found {
  std::uint32_t* places;
  float* magnitudes;  // null: places only
  std::size_t count;
};

// Stores the lanes of `mask` and adds them to the count.
template <bool kMagnitudes, class Tag, class Magnitudes, class Places, class Mask>
HWY_INLINE void keep_lanes(Tag tag, Magnitudes magnitudes, Places places, Mask mask, Found& found) {
  const hn::RebindToUnsigned<Tag> index_tag;
  const auto here = hn::RebindMask(index_tag, mask);
  hn::StoreU(hn::Compress(places, here), index_tag, found.places + found.count);
  if constexpr (kMagnitudes) {
    hn::StoreU(hn::Compress(magnitudes, mask), tag, found.magnitudes + found.count);
  }
  found.count += hn::CountTrue(tag, mask);
}

constexpr std::size_t kRun = 64;          // values that are passed over together
constexpr std::size_t kBlock = 1024;      // the method is chosen again for each block
constexpr std::size_t kManyOfBlock = 4;   // passing over mispredicts too often from here on
constexpr std::size_t kMostOfBlock = 96;  // reading magnitudes one by one costs more from here on

HWY_INLINE void read_ahead(const float* run) {  // may be after the end: no access
  for (std::size_t i = 0; i < kRun; i += 16) __builtin_prefetch(run + i + kReadAhead, 0, 2);
}

template <class Tag, class Vector>
HWY_INLINE bool is_small(Tag tag, const float* run, Vector least) {
  auto most = hn::Zero(tag);
  for (std::size_t i = 0; i < kRun; i += hn::Lanes(tag)) {
    most = hn::Max(most, hn::Abs(hn::LoadU(tag, run + i)));
  }
  return hn::AllFalse(tag, hn::Ge(most, least));
}

// From place `at` on.
template <bool kMagnitudes>
std::size_t large_one_by_one(std::span<const float> values, std::size_t at, float threshold,
                             std::uint32_t first, Found found) {
  for (; at < values.size(); ++at) {
    const float magnitude = std::fabs(values[at]);
    found.places[found.count] = first + static_cast<std::uint32_t>(at);
    if constexpr (kMagnitudes) found.magnitudes[found.count] = magnitude;
    found.count += magnitude >= threshold ? 1 : 0;
  }
  return found.count;
}

// In a block with few large values, runs without one are skipped. In a block with many, every run
// is compressed without a test. Magnitudes are compressed too only in a block with very many;
// otherwise they are read again from the cache. `found` is a copy: vector stores could alias a
// reference, and its count would then go through memory each time.
template <bool kMagnitudes>
std::size_t large(const float* values, std::size_t count, float threshold, std::uint32_t first,
                  Found found) {
  const hn::CappedTag<float, 16> tag;
  const hn::RebindToUnsigned<decltype(tag)> index_tag;
  const auto least = hn::Set(tag, threshold);
  const auto lane_numbers = hn::Iota(index_tag, 0);
  std::size_t of_block = 0;
  std::size_t at = 0;
  const auto keep_run = [&](auto both) {
    for (std::size_t i = at; i < at + kRun; i += hn::Lanes(tag)) {
      const auto magnitudes = hn::Abs(hn::LoadU(tag, values + i));
      const auto base = hn::Set(index_tag, first + static_cast<std::uint32_t>(i));
      keep_lanes<decltype(both)::value>(tag, magnitudes, hn::Add(lane_numbers, base),
                                        hn::Ge(magnitudes, least), found);
    }
  };
  while (at + kRun <= count) {
    const std::size_t before = found.count;
    const std::size_t end = at + std::min(kBlock, (count - at) / kRun * kRun);
    if (kMagnitudes && of_block >= kMostOfBlock) {
      for (; at < end; at += kRun) {
        read_ahead(values + at);
        keep_run(std::bool_constant<kMagnitudes>());
      }
    } else {
      for (; at < end; at += kRun) {
        read_ahead(values + at);
        if (of_block < kManyOfBlock && is_small(tag, values + at, least)) continue;
        keep_run(std::false_type());
      }
      for (std::size_t i = before; kMagnitudes && i < found.count; ++i) {
        found.magnitudes[i] = std::fabs(values[found.places[i] - first]);
      }
    }
    of_block = found.count - before;
  }
  return large_one_by_one<kMagnitudes>({values, count}, at, threshold, first, found);
}

std::size_t large_places(const float* values, std::size_t count, float threshold,
                         std::uint32_t first, std::uint32_t* places) {
  return large<false>(values, count, threshold, first, {places, nullptr, 0});
}

std::size_t large_entries(const float* values, std::size_t count, float threshold,
                          std::uint32_t first, std::uint32_t* places, float* magnitudes) {
  return large<true>(values, count, threshold, first, {places, magnitudes, 0});
}

// Three comparisons a vector: reading from memory takes longer.
std::size_t large_beside(const float* values, std::size_t count, float threshold,
                         std::uint32_t first, std::uint32_t* places, CountsBeside& beside) {
  const hn::CappedTag<float, 16> tag;
  const hn::RebindToUnsigned<decltype(tag)> index_tag;
  const auto least = hn::Set(tag, threshold);
  const auto below = hn::Set(tag, beside.below), above = hn::Set(tag, beside.above);
  const auto one = hn::Set(index_tag, 1);
  auto reach_below = hn::Zero(index_tag), reach_above = reach_below;
  auto numbers = hn::Add(hn::Iota(index_tag, 0), hn::Set(index_tag, first));
  const auto step = hn::Set(index_tag, static_cast<std::uint32_t>(hn::Lanes(tag)));
  Found found{places, nullptr, 0};
  std::size_t at = 0;
  for (; at + kRun <= count; at += kRun) {
    read_ahead(values + at);
    for (std::size_t i = at; i < at + kRun; i += hn::Lanes(tag)) {
      const auto here = hn::Abs(hn::LoadU(tag, values + i));
      keep_lanes<false>(tag, here, numbers, hn::Ge(here, least), found);
      numbers = hn::Add(numbers, step);
      const auto low = hn::RebindMask(index_tag, hn::Ge(here, below));
      const auto high = hn::RebindMask(index_tag, hn::Ge(here, above));
      reach_below = hn::Add(reach_below, hn::IfThenElseZero(low, one));
      reach_above = hn::Add(reach_above, hn::IfThenElseZero(high, one));
    }
  }
  beside.reach_below += hn::GetLane(hn::SumOfLanes(index_tag, reach_below));
  beside.reach_above += hn::GetLane(hn::SumOfLanes(index_tag, reach_above));
  for (std::size_t i = at; i < count; ++i) {
    beside.reach_below += std::fabs(values[i]) >= beside.below ? 1 : 0;
    beside.reach_above += std::fabs(values[i]) >= beside.above ? 1 : 0;
  }
  return large_one_by_one<false>({values, count}, at, threshold, first, found);
}

std::size_t keep(const std::uint32_t* places, const float* magnitudes, std::size_t count,
                 float threshold, std::uint32_t* to) {
  const hn::CappedTag<float, 16> tag;
  const hn::RebindToUnsigned<decltype(tag)> index_tag;
  const auto least = hn::Set(tag, threshold);
  Found found{to, nullptr, 0};
  std::size_t at = 0;
  for (; at + hn::Lanes(tag) <= count; at += hn::Lanes(tag)) {
    const auto here = hn::LoadU(tag, magnitudes + at);
    keep_lanes<false>(tag, here, hn::LoadU(index_tag, places + at), hn::Ge(here, least), found);
  }
  for (; at < count; ++at) {
    to[found.count] = places[at];
    found.count += magnitudes[at] >= threshold ? 1 : 0;
  }
  return found.count;
}

std::size_t count_large(const float* values, std::size_t count, float threshold) {
  const hn::CappedTag<float, 16> tag;
  const hn::RebindToUnsigned<decltype(tag)> count_tag;
  const auto least = hn::Set(tag, threshold);
  constexpr std::size_t kMost = std::size_t{1} << 24;  // a lane's sum stays below 2^32
  std::size_t total = 0, at = 0;
  while (at + hn::Lanes(tag) <= count) {
    const std::size_t end = at + std::min(kMost, count - at) / hn::Lanes(tag) * hn::Lanes(tag);
    auto sums = hn::Zero(count_tag);
    for (; at < end; at += hn::Lanes(tag)) {
      const auto here =
          hn::RebindMask(count_tag, hn::Ge(hn::Abs(hn::LoadU(tag, values + at)), least));
      sums = hn::Add(sums, hn::IfThenElseZero(here, hn::Set(count_tag, 1)));
    }
    total += hn::GetLane(hn::SumOfLanes(count_tag, sums));
  }
  for (; at < count; ++at) total += std::fabs(values[at]) >= threshold ? 1 : 0;
  return total;
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
HWY_EXPORT(large_places);
HWY_EXPORT(large_entries);
HWY_EXPORT(large_beside);
HWY_EXPORT(keep);
HWY_EXPORT(count_large);
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
                       std::uint32_t* places) {
  return HWY_DYNAMIC_DISPATCH(large_places)(values, count, threshold, first, places);
}

std::size_t find_large(const float* values, std::size_t count, float threshold, std::uint32_t first,
                       std::uint32_t* places, float* magnitudes) {
  return HWY_DYNAMIC_DISPATCH(large_entries)(values, count, threshold, first, places, magnitudes);
}

std::size_t find_large(const float* values, std::size_t count, float threshold, std::uint32_t first,
                       std::uint32_t* places, CountsBeside& beside) {
  return HWY_DYNAMIC_DISPATCH(large_beside)(values, count, threshold, first, places, beside);
}

std::size_t keep_large(const std::uint32_t* places, const float* magnitudes, std::size_t count,
                       float threshold, std::uint32_t* to) {
  return HWY_DYNAMIC_DISPATCH(keep)(places, magnitudes, count, threshold, to);
}

std::size_t count_at_least(const float* magnitudes, std::size_t count, float threshold) {
  return HWY_DYNAMIC_DISPATCH(count_large)(magnitudes, count, threshold);
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
