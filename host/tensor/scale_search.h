// SPDX-License-Identifier: Apache-2.0
//
// Finds the scale, and the min, with which integers approximate a block of values best.
//
// Minimises the squared error over scale and integers together. It starts from a grid of scales
// (the range of the block, stretched and clipped). Then it alternates: it sets the integers, then
// the scale, to the least-squares optimum for the other, until the error stays the same. This is
// Lloyd's algorithm (Lloyd, Least squares quantization in PCM, 1982) with equidistant levels.
// Shapes: blocks of up to 32 values, a multiple of 8, all finite. Threads: pure functions.
#pragma once

#include <cmath>
#include <span>

namespace tandem {

// x ~ scale * q with q in [low, high]; low < 0 < high. The scale may be negative (the longer side
// of the range then serves the larger values); 0 for a block of zeros.
float search_scale(std::span<const float> x, int low, int high);

// x ~ scale * q + min with q in [0, high], scale >= 0.
struct ScaleMin {
  float scale = 0.0f, min = 0.0f;
};
ScaleMin search_scale_min(std::span<const float> x, int high);
// The same with min <= 0.
ScaleMin search_scale_negative_min(std::span<const float> x, int high);

// x ~ scale * kIQ4NLValues[q].
float search_iq4_nl_scale(std::span<const float> x);
// The index of the value of kIQ4NLValues nearest to x.
int nearest_iq4_nl(float x);

// The squared error of x ~ scale * q + min with the best q in [low, high].
float squared_error(std::span<const float> x, float scale, float min, int low, int high);

// 1 / scale if that is finite; for tiny scales 0.
inline float inverse_of(float scale) { return std::fabs(scale) > 1e-30f ? 1.0f / scale : 0.0f; }

// round(x * inverse) clipped to [low, high]; ties to even. |x * inverse| may be anything finite.
int nearest_level(float x, float inverse, int low, int high);

}  // namespace tandem
