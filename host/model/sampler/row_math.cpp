// SPDX-License-Identifier: Apache-2.0
//
// Passes over logits for AVX-512, AVX2 and the baseline; sums go into double every kBlock values.
#include "model/sampler/row_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/sampler/row_math.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::model {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

constexpr std::size_t kBlock = 256;
constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

float clean_one(float logit) { return std::isnan(logit) ? kLowest : std::min(logit, kLargest); }

HWY_INLINE Vec clean(Tag d, Vec x) {
  return hn::IfThenElse(hn::IsNaN(x), hn::Set(d, kLowest), hn::Min(x, hn::Set(d, kLargest)));
}

// exp(x) for x <= 0 or a little above; what underflows is 0.
HWY_INLINE Vec exp_below(Tag d, Vec x) {
  const Vec floor = hn::Set(d, -87.0f);
  return hn::IfThenElseZero(hn::Ge(x, floor), hn::Exp(d, hn::Max(x, floor)));
}

float exp_one(float x) { return x >= -87.0f ? std::exp(x) : 0.0f; }

}  // namespace

float best(const float* logits, std::size_t count) {
  const Tag d;
  Vec top = hn::Set(d, kLowest);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    top = hn::Max(top, clean(d, hn::LoadU(d, logits + i)));
  }
  float best = hn::GetLane(hn::MaxOfLanes(d, top));
  for (; i < count; ++i) best = std::max(best, clean_one(logits[i]));
  return best;
}

void clean_row(const float* logits, std::size_t count, float* to) {
  const Tag d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    hn::StoreU(clean(d, hn::LoadU(d, logits + i)), d, to + i);
  }
  for (; i < count; ++i) to[i] = clean_one(logits[i]);
}

std::size_t find_equal(const float* logits, std::size_t count, float value) {
  const Tag d;
  const Vec wanted = hn::Set(d, value);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto found = hn::FindFirstTrue(d, hn::Eq(clean(d, hn::LoadU(d, logits + i)), wanted));
    if (found >= 0) return i + static_cast<std::size_t>(found);
  }
  while (i < count && clean_one(logits[i]) != value) ++i;
  return i;
}

void exp_row(const float* logits, std::size_t count, float best, float factor, float* weights) {
  const Tag d;
  const Vec shift = hn::Set(d, best), scale = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const Vec below = hn::Sub(clean(d, hn::LoadU(d, logits + i)), shift);
    hn::StoreU(exp_below(d, hn::Mul(below, scale)), d, weights + i);
  }
  for (; i < count; ++i) weights[i] = exp_one((clean_one(logits[i]) - best) * factor);
}

double sum_row(const float* values, std::size_t count) {
  const Tag d;
  double total = 0;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, count);
    Vec sum = hn::Zero(d);
    std::size_t i = begin;
    for (; i + hn::Lanes(d) <= end; i += hn::Lanes(d)) sum = hn::Add(sum, hn::LoadU(d, values + i));
    total += hn::GetLane(hn::SumOfLanes(d, sum));
    for (; i < end; ++i) total += values[i];
  }
  return total;
}

double sum_exp(const float* logits, std::size_t count, float best) {
  double total = 0;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    float weights[kBlock];
    const std::size_t size = std::min(kBlock, count - begin);
    exp_row(logits + begin, size, best, 1.0f, weights);
    total += sum_row(weights, size);
  }
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::model {
namespace {
constexpr float kLargestFactor = std::numeric_limits<float>::max();
}

HWY_EXPORT(best);
HWY_EXPORT(clean_row);
HWY_EXPORT(find_equal);
HWY_EXPORT(exp_row);
HWY_EXPORT(sum_row);
HWY_EXPORT(sum_exp);

float best_logit(std::span<const float> logits) {
  return HWY_DYNAMIC_DISPATCH(best)(logits.data(), logits.size());
}
void clean_logits(std::span<const float> logits, float* to) {
  HWY_DYNAMIC_DISPATCH(clean_row)(logits.data(), logits.size(), to);
}
std::size_t first_equal(std::span<const float> logits, float best) {
  return HWY_DYNAMIC_DISPATCH(find_equal)(logits.data(), logits.size(), best);
}
double sum_of_exponentials(std::span<const float> logits, float best) {
  return HWY_DYNAMIC_DISPATCH(sum_exp)(logits.data(), logits.size(), best);
}
void exponentials(std::span<const float> logits, float best, float factor, float* weights) {
  factor = std::min(factor, kLargestFactor);  // infinity times the best one's 0 would be NaN
  HWY_DYNAMIC_DISPATCH(exp_row)(logits.data(), logits.size(), best, factor, weights);
}
double sum_of(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(sum_row)(values.data(), values.size());
}

}  // namespace tandem::model
#endif  // HWY_ONCE
