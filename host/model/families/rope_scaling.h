// SPDX-License-Identifier: Apache-2.0
//
// Rotary embedding frequencies after scaling.
//
// Unscaled: f_i = base^(-2i/n) for i < n/2. Linear scaling divides every f_i by the factor. YaRN
// interpolates only the slow dimensions and raises the magnitude. Llama-3 files carry their factors
// as a tensor, one divisor per frequency, applied on top.
// Source: Su et al. 2021 (RoPE); Chen et al. 2023 (linear); Peng et al. 2023 (YaRN, eqs. 13-22).
#pragma once

#include <vector>

#include "model/model.h"

namespace tandem::model {

enum class RopeScaling { kNone, kLinear, kYarn };

struct RopeScalingConfig {
  RopeScaling kind = RopeScaling::kNone;
  int num_dims = 0;  // rotated dimensions, even
  float base = 10000.0f;
  float factor = 1.0f;            // context extension, > 0
  int original_context = 0;       // YaRN: the context the model was first trained with
  float beta_fast = 32.0f;        // YaRN: rotations above which a dimension is left alone
  float beta_slow = 1.0f;         // YaRN: rotations below which it is interpolated fully
  float attention_factor = 1.0f;  // YaRN: multiplies the magnitude
  std::vector<float> divisors;    // [num_dims / 2] or empty
};

RopeConfig scaled_rope(const RopeScalingConfig& config);

}  // namespace tandem::model
