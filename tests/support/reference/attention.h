// SPDX-License-Identifier: Apache-2.0
//
// Naive attention in double precision over explicit K and V arrays: the oracle of every attention
// unit and of causal attention.
//
// One query row at a time, all scores kept, two passes. round_kv() rounds K or V as pages store
// them: f16 and bf16 to nearest even; i8 with one scale max|x| / 127 per token and head; float8
// with the least power of two that keeps |x| within 448 of it. Merging follows L = ln sum exp(L_i),
// O = sum exp(L_i - L) O_i.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "device/attention_unit.h"
#include "tensor/dtype.h"

namespace tandem::reference {

struct AttentionAnswer {
  std::vector<double> o;    // [q_heads, head_dim]
  std::vector<double> lse;  // [q_heads]
};

// Rounds rows of K or V in place to what a page of `kv_dtype` holds; kF32 leaves them alone.
inline void round_kv(DType kv_dtype, int head_dim, std::span<float> rows /* [*, head_dim] */) {
  const auto width = static_cast<std::size_t>(head_dim);
  for (std::size_t begin = 0; begin + width <= rows.size(); begin += width) {
    const std::span<float> row = rows.subspan(begin, width);
    if (kv_dtype == DType::kF16) {
      for (float& x : row) x = f16_to_f32(f32_to_f16(x));
    } else if (kv_dtype == DType::kI8) {
      float peak = 0.0f;
      for (const float x : row) peak = std::max(peak, std::fabs(x));
      const float scale = peak / 127.0f;
      for (float& x : row) {
        x = scale > 0.0f ? scale * static_cast<float>(std::nearbyint(x / scale)) : 0.0f;
      }
    } else if (kv_dtype == DType::kBF16) {
      for (float& x : row) x = bf16_to_f32(f32_to_bf16(x));
    } else if (kv_dtype == DType::kF8E4M3) {
      float peak = 0.0f;
      for (const float x : row) peak = std::max(peak, std::fabs(x));
      float scale = 0x1p-126f;
      while (peak > 448.0f * scale) scale *= 2.0f;
      for (float& x : row) x = scale * f8_to_f32(f32_to_f8(x / scale));
    }
  }
}

// What a query row sees of the tokens, and what becomes of its scores.
struct AttentionRule {
  std::size_t begin = 0;  // the first token seen
  double softcap = 0;     // scores s become softcap * tanh(s / softcap); 0: as they are
};

// One query row over tokens [rule.begin, tokens).
inline AttentionAnswer reference_attention(
    const device::AttentionGeometry& g, double scale,
    std::span<const float> q,  // [q_heads, head_dim]
    std::span<const float> k,  // [>= tokens, kv_heads, head_dim]
    std::span<const float> v, std::size_t tokens, const AttentionRule& rule = {}) {
  const auto dim = static_cast<std::size_t>(g.head_dim);
  const auto group = static_cast<std::size_t>(g.q_heads / g.kv_heads);
  AttentionAnswer answer;
  answer.o.assign(g.q_heads * dim, 0.0);
  answer.lse.assign(g.q_heads, -std::numeric_limits<double>::infinity());
  std::vector<double> score(tokens);
  for (std::size_t head = 0; head < static_cast<std::size_t>(g.q_heads); ++head) {
    const auto at = [&](std::size_t token) { return (token * g.kv_heads + head / group) * dim; };
    double peak = -std::numeric_limits<double>::infinity();
    for (std::size_t token = rule.begin; token < tokens; ++token) {
      double dot = 0.0;
      for (std::size_t d = 0; d < dim; ++d) {
        dot += static_cast<double>(q[head * dim + d]) * k[at(token) + d];
      }
      score[token] = dot * scale;
      if (rule.softcap > 0) score[token] = rule.softcap * std::tanh(score[token] / rule.softcap);
      peak = std::fmax(peak, score[token]);
    }
    if (tokens <= rule.begin) continue;
    double sum = 0.0;
    for (std::size_t token = rule.begin; token < tokens; ++token) {
      const double weight = std::exp(score[token] - peak);
      sum += weight;
      for (std::size_t d = 0; d < dim; ++d) answer.o[head * dim + d] += weight * v[at(token) + d];
    }
    for (std::size_t d = 0; d < dim; ++d) answer.o[head * dim + d] /= sum;
    answer.lse[head] = peak + std::log(sum);
  }
  return answer;
}

// The partials of one query row, in any order.
inline AttentionAnswer merge_answers(std::span<const AttentionAnswer> partials) {
  AttentionAnswer merged = partials.front();
  const std::size_t heads = merged.lse.size();
  const std::size_t dim = merged.o.size() / heads;
  for (std::size_t head = 0; head < heads; ++head) {
    double peak = -std::numeric_limits<double>::infinity();
    for (const auto& partial : partials) peak = std::fmax(peak, partial.lse[head]);
    double sum = 0.0;
    std::vector<double> o(dim, 0.0);
    if (peak > -std::numeric_limits<double>::infinity()) {
      for (const auto& partial : partials) {
        const double weight = std::exp(partial.lse[head] - peak);
        sum += weight;
        for (std::size_t d = 0; d < dim; ++d) o[d] += weight * partial.o[head * dim + d];
      }
    }
    merged.lse[head] = sum > 0 ? peak + std::log(sum) : peak;
    for (std::size_t d = 0; d < dim; ++d) merged.o[head * dim + d] = sum > 0 ? o[d] / sum : 0.0;
  }
  return merged;
}

}  // namespace tandem::reference
