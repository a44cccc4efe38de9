// SPDX-License-Identifier: Apache-2.0
//
// Dots take a fibre per lane where all have as many entries; else, as sums, a fibre at a time.
#include "tensor/sparse/kernels/fibre_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/sparse/kernels/fibre_kernels.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"
#include "tensor/sparse/kernels/mttkrp.h"
#include "tensor/sparse/kernels/stored_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::sparse {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Entry k of each lane's fibre, where fibres of kLength entries follow one another.
template <std::size_t kLength, class Tag, typename T>
HWY_INLINE void load_entries(Tag tag, const T* from, hn::Vec<Tag>& a, hn::Vec<Tag>& b,
                             hn::Vec<Tag>& c, hn::Vec<Tag>& d) {
  if constexpr (kLength == 1) a = hn::LoadU(tag, from);
  if constexpr (kLength == 2) hn::LoadInterleaved2(tag, from, a, b);
  if constexpr (kLength == 3) hn::LoadInterleaved3(tag, from, a, b, c);
  if constexpr (kLength == 4) hn::LoadInterleaved4(tag, from, a, b, c, d);
}

// Fibres that fill no whole vector: the operations of a lane.
template <std::size_t kLength, typename Stored, typename Value>
HWY_INLINE Value short_dot(const FibreRun<Stored>& run, std::size_t e, const Value* x) {
  const hn::CappedTag<Value, 1> one;
  const auto value_at = [&](std::size_t k) { return hn::Set(one, widened(run.values[e + k])); };
  const auto x_at = [&](std::size_t k) { return hn::Set(one, x[run.indices[e + k]]); };
  auto sum = hn::Mul(value_at(0), x_at(0));
  for (std::size_t k = 1; k < kLength; ++k) sum = hn::MulAdd(value_at(k), x_at(k), sum);
  return hn::GetLane(sum);
}

template <std::size_t kLength, typename Stored, typename Value>
HWY_INLINE void equal_dots(const FibreRun<Stored>& run, const Value* x, Value* out) {
  const hn::ScalableTag<Value> tag;
  const hn::Rebind<std::int32_t, decltype(tag)> narrow;
  const hn::Rebind<StoredBits<Stored>, decltype(tag)> stored;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t e = run.begins[run.first];
  std::uint64_t f = run.first;
  for (; f + lanes <= run.last; f += lanes, e += kLength * lanes) {
    auto i0 = hn::Zero(narrow), i1 = i0, i2 = i0, i3 = i0;
    auto v0 = hn::Zero(stored), v1 = v0, v2 = v0, v3 = v0;
    load_entries<kLength>(narrow, run.indices + e, i0, i1, i2, i3);
    load_entries<kLength>(stored, stored_bits(run.values + e), v0, v1, v2, v3);
    auto sum = hn::Mul(widened_lanes(tag, v0), gathered_at(tag, x, i0));
    if constexpr (kLength > 1)
      sum = hn::MulAdd(widened_lanes(tag, v1), gathered_at(tag, x, i1), sum);
    if constexpr (kLength > 2)
      sum = hn::MulAdd(widened_lanes(tag, v2), gathered_at(tag, x, i2), sum);
    if constexpr (kLength > 3)
      sum = hn::MulAdd(widened_lanes(tag, v3), gathered_at(tag, x, i3), sum);
    hn::StoreU(sum, tag, out + f);
  }
  for (; f < run.last; ++f, e += kLength) out[f] = short_dot<kLength>(run, e, x);
}

template <typename Stored, typename Value>
HWY_INLINE void dots_of(const FibreRun<Stored>& run, const Value* x, Value* out) {
  switch (run.length) {
    case 1:
      return equal_dots<1>(run, x, out);
    case 2:
      return equal_dots<2>(run, x, out);
    case 3:
      return equal_dots<3>(run, x, out);
    case 4:
      return equal_dots<4>(run, x, out);
    default:
      for (std::uint64_t f = run.first; f < run.last; ++f) {
        const std::uint64_t e = run.begins[f];
        out[f] = dot_of_entries(run.indices + e, run.values + e,
                                static_cast<std::size_t>(run.begins[f + 1] - e), x);
      }
  }
}

// Columns of kVectors vectors of a fibre's row, from `column` on.
template <std::size_t kVectors, typename Stored, typename Value>
HWY_INLINE void add_tile(const FibreRun<Stored>& run, std::uint64_t begin, std::uint64_t end,
                         const Value* dense, std::size_t stride, Value* out) {
  const hn::CappedTag<Value, kFactorStep> tag;
  const std::size_t lanes = hn::Lanes(tag);
  auto s0 = hn::Zero(tag), s1 = s0, s2 = s0, s3 = s0;
  for (std::uint64_t e = begin; e < end; ++e) {
    const Value* const from = dense + static_cast<std::size_t>(run.indices[e]) * stride;
    const auto weight = hn::Set(tag, widened(run.values[e]));
    s0 = hn::MulAdd(weight, hn::LoadU(tag, from), s0);
    if constexpr (kVectors > 1) s1 = hn::MulAdd(weight, hn::LoadU(tag, from + lanes), s1);
    if constexpr (kVectors > 2) s2 = hn::MulAdd(weight, hn::LoadU(tag, from + 2 * lanes), s2);
    if constexpr (kVectors > 2) s3 = hn::MulAdd(weight, hn::LoadU(tag, from + 3 * lanes), s3);
  }
  hn::StoreU(s0, tag, out);
  if constexpr (kVectors > 1) hn::StoreU(s1, tag, out + lanes);
  if constexpr (kVectors > 2) hn::StoreU(s2, tag, out + 2 * lanes);
  if constexpr (kVectors > 2) hn::StoreU(s3, tag, out + 3 * lanes);
}

template <typename Stored, typename Value>
HWY_INLINE void sums_of(const FibreRun<Stored>& run, const Value* dense, std::size_t stride,
                        Value* out) {
  const std::size_t lanes = hn::Lanes(hn::CappedTag<Value, kFactorStep>());
  for (std::uint64_t f = run.first; f < run.last; ++f) {
    const std::uint64_t begin = run.begins[f], end = run.begins[f + 1];
    Value* const to = out + f * stride;
    std::size_t column = 0;
    for (; column + 4 * lanes <= stride; column += 4 * lanes) {
      add_tile<4>(run, begin, end, dense + column, stride, to + column);
    }
    for (; column + 2 * lanes <= stride; column += 2 * lanes) {
      add_tile<2>(run, begin, end, dense + column, stride, to + column);
    }
    for (; column < stride; column += lanes) {
      add_tile<1>(run, begin, end, dense + column, stride, to + column);
    }
  }
}

void fibre_dots_f32(const FibreRun<float>& run, const float* x, float* out) {
  dots_of(run, x, out);
}
void fibre_dots_f64(const FibreRun<double>& run, const double* x, double* out) {
  dots_of(run, x, out);
}
void fibre_dots_bf16(const FibreRun<Bf16>& run, const float* x, float* out) {
  dots_of(run, x, out);
}
void fibre_sums_f32(const FibreRun<float>& run, const float* dense, std::size_t stride,
                    float* out) {
  sums_of(run, dense, stride, out);
}
void fibre_sums_f64(const FibreRun<double>& run, const double* dense, std::size_t stride,
                    double* out) {
  sums_of(run, dense, stride, out);
}
void fibre_sums_bf16(const FibreRun<Bf16>& run, const float* dense, std::size_t stride,
                     float* out) {
  sums_of(run, dense, stride, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::sparse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::sparse {

HWY_EXPORT(fibre_dots_f32);
HWY_EXPORT(fibre_dots_f64);
HWY_EXPORT(fibre_dots_bf16);
HWY_EXPORT(fibre_sums_f32);
HWY_EXPORT(fibre_sums_f64);
HWY_EXPORT(fibre_sums_bf16);

void fibre_dots(const FibreRun<float>& run, const float* x, float* out) {
  HWY_DYNAMIC_DISPATCH(fibre_dots_f32)(run, x, out);
}
void fibre_dots(const FibreRun<double>& run, const double* x, double* out) {
  HWY_DYNAMIC_DISPATCH(fibre_dots_f64)(run, x, out);
}
void fibre_dots(const FibreRun<Bf16>& run, const float* x, float* out) {
  HWY_DYNAMIC_DISPATCH(fibre_dots_bf16)(run, x, out);
}
void fibre_sums(const FibreRun<float>& run, const float* dense, std::size_t stride, float* out) {
  HWY_DYNAMIC_DISPATCH(fibre_sums_f32)(run, dense, stride, out);
}
void fibre_sums(const FibreRun<double>& run, const double* dense, std::size_t stride, double* out) {
  HWY_DYNAMIC_DISPATCH(fibre_sums_f64)(run, dense, stride, out);
}
void fibre_sums(const FibreRun<Bf16>& run, const float* dense, std::size_t stride, float* out) {
  HWY_DYNAMIC_DISPATCH(fibre_sums_bf16)(run, dense, stride, out);
}

}  // namespace tandem::sparse
#endif
