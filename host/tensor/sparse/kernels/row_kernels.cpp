// SPDX-License-Identifier: Apache-2.0
//
// Gathers of x for products with a vector; whole rows of dense matrices for the others.
#include "tensor/sparse/kernels/row_kernels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/sparse/kernels/row_kernels.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "tensor/sparse/kernels/mttkrp.h"
#include "tensor/sparse/kernels/stored_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::sparse {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename Value>
using Step = hn::CappedTag<Value, kFactorStep>;

template <typename Stored, typename Value>
HWY_INLINE void scores_of(const SparseRow<Stored>& row, const RowScores<Value>& dense, Value* out) {
  const Step<Value> tag;
  const std::size_t lanes = hn::Lanes(tag);
  for (std::size_t e = 0; e < row.num_entries; ++e) {
    const Value* const right =
        dense.right + static_cast<std::size_t>(row.indices[e]) * dense.stride;
    auto sums = hn::Zero(tag);
    for (std::size_t column = 0; column < dense.stride; column += lanes) {
      sums = hn::MulAdd(hn::LoadU(tag, dense.left + column), hn::LoadU(tag, right + column), sums);
    }
    out[e] = dense.scale * widened(row.values[e]) * hn::GetLane(hn::SumOfLanes(tag, sums));
  }
}

template <typename Value>
HWY_INLINE void softmax_of(Value* scores, std::size_t count) {
  if (count == 0) return;
  const Value most = *std::max_element(scores, scores + count);
  const hn::ScalableTag<Value> tag;
  const hn::CappedTag<Value, 1> one;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t e = 0;
  for (; e + lanes <= count; e += lanes) {
    hn::StoreU(hn::Exp(tag, hn::Sub(hn::LoadU(tag, scores + e), hn::Set(tag, most))), tag,
               scores + e);
  }
  for (; e < count; ++e) {
    hn::StoreU(hn::Exp(one, hn::Set(one, scores[e] - most)), one, scores + e);
  }
  Value sum = 0;
  for (e = 0; e < count; ++e) sum += scores[e];
  for (e = 0; e < count; ++e) scores[e] /= sum;
}

template <typename Weight, typename Value>
HWY_INLINE void mix_of(const RowMix<Weight, Value>& mix, Value* out) {
  const Step<Value> tag;
  const std::size_t lanes = hn::Lanes(tag);
  std::fill(out, out + mix.stride, Value{});
  for (std::size_t e = 0; e < mix.num_entries; ++e) {
    const Value* const from = mix.dense + static_cast<std::size_t>(mix.indices[e]) * mix.stride;
    const auto weight = hn::Set(tag, widened(mix.weights[e]));
    for (std::size_t column = 0; column < mix.stride; column += lanes) {
      hn::StoreU(hn::MulAdd(weight, hn::LoadU(tag, from + column), hn::LoadU(tag, out + column)),
                 tag, out + column);
    }
  }
}

float dot_f32(const SparseRow<float>& row, const float* x) {
  return dot_of_entries(row.indices, row.values, row.num_entries, x);
}
double dot_f64(const SparseRow<double>& row, const double* x) {
  return dot_of_entries(row.indices, row.values, row.num_entries, x);
}
float dot_bf16(const SparseRow<Bf16>& row, const float* x) {
  return dot_of_entries(row.indices, row.values, row.num_entries, x);
}
void scores_f32(const SparseRow<float>& row, const RowScores<float>& dense, float* out) {
  scores_of(row, dense, out);
}
void scores_f64(const SparseRow<double>& row, const RowScores<double>& dense, double* out) {
  scores_of(row, dense, out);
}
void scores_bf16(const SparseRow<Bf16>& row, const RowScores<float>& dense, float* out) {
  scores_of(row, dense, out);
}
void softmax_f32(float* scores, std::size_t count) { softmax_of(scores, count); }
void softmax_f64(double* scores, std::size_t count) { softmax_of(scores, count); }
void mix_f32(const RowMix<float, float>& mix, float* out) { mix_of(mix, out); }
void mix_f64(const RowMix<double, double>& mix, double* out) { mix_of(mix, out); }
void mix_bf16(const RowMix<Bf16, float>& mix, float* out) { mix_of(mix, out); }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::sparse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::sparse {

HWY_EXPORT(dot_f32);
HWY_EXPORT(dot_f64);
HWY_EXPORT(dot_bf16);
HWY_EXPORT(scores_f32);
HWY_EXPORT(scores_f64);
HWY_EXPORT(scores_bf16);
HWY_EXPORT(softmax_f32);
HWY_EXPORT(softmax_f64);
HWY_EXPORT(mix_f32);
HWY_EXPORT(mix_f64);
HWY_EXPORT(mix_bf16);

float row_dot(const SparseRow<float>& row, const float* x) {
  return HWY_DYNAMIC_DISPATCH(dot_f32)(row, x);
}
double row_dot(const SparseRow<double>& row, const double* x) {
  return HWY_DYNAMIC_DISPATCH(dot_f64)(row, x);
}
float row_dot(const SparseRow<Bf16>& row, const float* x) {
  return HWY_DYNAMIC_DISPATCH(dot_bf16)(row, x);
}
void row_scores(const SparseRow<float>& row, const RowScores<float>& dense, float* out) {
  HWY_DYNAMIC_DISPATCH(scores_f32)(row, dense, out);
}
void row_scores(const SparseRow<double>& row, const RowScores<double>& dense, double* out) {
  HWY_DYNAMIC_DISPATCH(scores_f64)(row, dense, out);
}
void row_scores(const SparseRow<Bf16>& row, const RowScores<float>& dense, float* out) {
  HWY_DYNAMIC_DISPATCH(scores_bf16)(row, dense, out);
}
void softmax(float* scores, std::size_t count) { HWY_DYNAMIC_DISPATCH(softmax_f32)(scores, count); }
void softmax(double* scores, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(softmax_f64)(scores, count);
}
void row_mix(const RowMix<float, float>& mix, float* out) {
  HWY_DYNAMIC_DISPATCH(mix_f32)(mix, out);
}
void row_mix(const RowMix<double, double>& mix, double* out) {
  HWY_DYNAMIC_DISPATCH(mix_f64)(mix, out);
}
void row_mix(const RowMix<Bf16, float>& mix, float* out) {
  HWY_DYNAMIC_DISPATCH(mix_bf16)(mix, out);
}

}  // namespace tandem::sparse
#endif
