// SPDX-License-Identifier: Apache-2.0
//
// Vectorised loops over rows of f32: norm, rotation, gates, conversion to and from KV types,
// merging of attention partials.
//
// All are pure functions of one row, limited by memory, and run on the calling thread; callers
// divide rows over threads. Any width works: the last few values of a row are processed one at a
// time. Numerics: sums in f32 over lanes; conversions to nearest even.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::device::cpu {

// out = x / sqrt(mean(x^2) + epsilon) * weight. out may be x.
void rms_norm_row(const float* x, const float* weight, float epsilon, std::size_t width,
                  float* out);

// Rotates `heads` heads in place by cos_sin: [pairs] cosines, then [pairs] sines.
struct RopeRow {
  std::size_t heads = 0, head_dim = 0, pairs = 0;
  bool interleaved = true;
};
void rope_row(const RopeRow& shape, const float* cos_sin, float* x /* [heads, head_dim] */);

// out = gate / (1 + exp(-gate)) * up. out may be gate.
void swiglu(const float* gate, const float* up, std::size_t count, float* out);

// out = gelu(gate) * up in the tanh form, 0.5 g (1 + tanh(sqrt(2/pi) (g + 0.044715 g^3))). out may
// be gate.
void geglu(const float* gate, const float* up, std::size_t count, float* out);

// x = cap * tanh(x / cap), within some ulp; the result does not depend on the position in the call.
void softcap(float cap, std::size_t count, float* x);

void to_f16(const float* from, std::size_t count, std::uint16_t* to);
void from_f16(const std::uint16_t* from, std::size_t count, float* to);

// Returns the scale max|x| / 127; a row with NaN or infinity becomes zeros with scale NaN.
float to_i8(const float* from, std::size_t count, std::int8_t* to);
void from_i8(const std::int8_t* from, float scale, std::size_t count, float* to);

// acc += factor * x.
void add_scaled(const float* x, float factor, std::size_t count, float* acc);

}  // namespace tandem::device::cpu
