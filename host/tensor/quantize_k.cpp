// SPDX-License-Identifier: Apache-2.0
//
// Blocks of the K types: scales of sub-blocks are themselves quantised against one f16.
//
// Each sub-block's scale (and min) is searched alone; the largest determines the f16. Each
// quantised scale is then the one of the nearest three with the smallest error, because with coarse
// scales the nearest is often not the best. Finally the f16 values are fitted once more to these
// integers; the result is kept if it is better.
#include <algorithm>
#include <cmath>

#include "tensor/dtype.h"
#include "tensor/quantize_blocks.h"
#include "tensor/scale_search.h"

namespace tandem {
namespace {

constexpr int kValues = 256;

// Scales as integers against f16 ones, and the block's integers.
struct SubBlocks {
  std::uint16_t scale = 0, min = 0;  // f16
  int scales[16] = {}, mins[16] = {};
  int codes[kValues] = {};
  double error = 0.0;
};

// The effective scale and min as dequantize_row() computes them.
ScaleMin effective(const SubBlocks& s, int scale, int min) {
  return {f16_to_f32(s.scale) * static_cast<float>(scale),
          -(f16_to_f32(s.min) * static_cast<float>(min))};
}

struct Type {
  int sub_values;             // values of a sub-block
  int low, high;              // integers
  int scale_low, scale_high;  // of a quantised scale
  bool has_min;
};
constexpr Type kTypeQ4_K{32, 0, 15, 0, 63, true};
constexpr Type kTypeQ5_K{32, 0, 31, 0, 63, true};
constexpr Type kTypeQ6_K{16, -32, 31, -128, 127, false};

std::span<const float> sub_block(const float* from, const Type& type, int sub) {
  return {from + sub * type.sub_values, static_cast<std::size_t>(type.sub_values)};
}

// Given the f16 and where each sub-block's scale and min would be, chooses the quantised ones and
// the integers.
void choose(const float* from, const Type& type, const ScaleMin* wanted, SubBlocks& s) {
  const float scale_inverse = stored_inverse(s.scale), min_inverse = stored_inverse(s.min);
  const int min_reach = type.has_min ? 1 : 0;
  s.error = 0.0;
  for (int sub = 0; sub < kValues / type.sub_values; ++sub) {
    const std::span<const float> x = sub_block(from, type, sub);
    const int scale0 =
        nearest_level(wanted[sub].scale, scale_inverse, type.scale_low, type.scale_high);
    const int min0 = nearest_level(-wanted[sub].min, min_inverse, 0, 63);
    float best = HUGE_VALF;
    for (int scale = std::max(scale0 - 1, type.scale_low);
         scale <= std::min(scale0 + 1, type.scale_high); ++scale) {
      for (int min = std::max(min0 - min_reach, 0); min <= std::min(min0 + min_reach, 63); ++min) {
        const ScaleMin fit = effective(s, scale, min);
        const float error = squared_error(x, fit.scale, fit.min, type.low, type.high);
        if (error >= best) continue;
        best = error;
        s.scales[sub] = scale;
        s.mins[sub] = min;
      }
    }
    const ScaleMin fit = effective(s, s.scales[sub], s.mins[sub]);
    const float inverse = inverse_of(fit.scale);
    for (int i = 0; i < type.sub_values; ++i) {
      s.codes[sub * type.sub_values + i] =
          nearest_level(x[static_cast<std::size_t>(i)] - fit.min, inverse, type.low, type.high);
    }
    s.error += static_cast<double>(best);
  }
}

// The f16 scale and min that fit the integers of `s` best, into `to`: x ~ d * a - dmin * b with a
// = scale * code and b = min.
void refit(const float* from, const Type& type, const SubBlocks& s, SubBlocks& to) {
  double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;
  for (int i = 0; i < kValues; ++i) {
    const int sub = i / type.sub_values;
    const double a = s.scales[sub] * s.codes[i], b = -s.mins[sub], x = static_cast<double>(from[i]);
    aa += a * a;
    ab += a * b;
    bb += b * b;
    ax += a * x;
    bx += b * x;
  }
  const double determinant = aa * bb - ab * ab;
  double scale = aa > 0 ? ax / aa : 0.0, min = 0.0;
  if (determinant > 1e-9 * aa * bb) {
    scale = (ax * bb - bx * ab) / determinant;
    min = (bx * aa - ax * ab) / determinant;
  }
  to.scale = stored_scale(static_cast<float>(scale));
  to.min = stored_scale(static_cast<float>(std::max(min, 0.0)));
}

SubBlocks fit_sub_blocks(const float* from, const Type& type) {
  ScaleMin wanted[16];
  float scale_peak = 0.0f, min_peak = 0.0f;
  for (int sub = 0; sub < kValues / type.sub_values; ++sub) {
    const std::span<const float> x = sub_block(from, type, sub);
    wanted[sub] = type.has_min ? search_scale_negative_min(x, type.high)
                               : ScaleMin{search_scale(x, type.low, type.high), 0.0f};
    scale_peak = std::max(scale_peak, std::fabs(wanted[sub].scale));
    min_peak = std::max(min_peak, -wanted[sub].min);
  }
  SubBlocks first;
  first.scale = stored_scale(scale_peak / static_cast<float>(type.scale_high));
  first.min = stored_scale(min_peak / 63.0f);
  choose(from, type, wanted, first);
  SubBlocks second;
  refit(from, type, first, second);
  choose(from, type, wanted, second);
  return second.error < first.error ? second : first;
}

// The reverse of unpack_k_scale().
void pack_k_scales(const SubBlocks& s, std::uint8_t to[12]) {
  for (int j = 0; j < 4; ++j) {
    const int scale = s.scales[j + 4], min = s.mins[j + 4];
    to[j] = static_cast<std::uint8_t>(s.scales[j] | ((scale >> 4) << 6));
    to[j + 4] = static_cast<std::uint8_t>(s.mins[j] | ((min >> 4) << 6));
    to[j + 8] = static_cast<std::uint8_t>((scale & 15) | ((min & 15) << 4));
  }
}

void pack_k_nibbles(const int* codes, std::uint8_t to[kValues / 2]) {
  for (int i = 0; i < kValues / 2; ++i) {
    const int* even = codes + i / 32 * 64 + i % 32;
    to[i] = static_cast<std::uint8_t>((even[0] & 15) | ((even[32] & 15) << 4));
  }
}

}  // namespace

void quantize_block(const float* from, BlockQ4_K& to) {
  const SubBlocks s = fit_sub_blocks(from, kTypeQ4_K);
  to.scale = s.scale;
  to.min = s.min;
  pack_k_scales(s, to.scales);
  pack_k_nibbles(s.codes, to.nibbles);
}

void quantize_block(const float* from, BlockQ5_K& to) {
  const SubBlocks s = fit_sub_blocks(from, kTypeQ5_K);
  to.scale = s.scale;
  to.min = s.min;
  pack_k_scales(s, to.scales);
  pack_k_nibbles(s.codes, to.nibbles);
  std::fill(std::begin(to.high_bits), std::end(to.high_bits), std::uint8_t{0});
  for (int value = 0; value < kValues; ++value) {
    to.high_bits[value % 32] |= static_cast<std::uint8_t>((s.codes[value] >> 4) << (value / 32));
  }
}

void quantize_block(const float* from, BlockQ6_K& to) {
  const SubBlocks s = fit_sub_blocks(from, kTypeQ6_K);
  to.scale = s.scale;
  std::copy_n(s.scales, BlockQ6_K::kSubBlocks, to.scales);
  std::fill(std::begin(to.nibbles), std::end(to.nibbles), std::uint8_t{0});
  std::fill(std::begin(to.high_bits), std::end(to.high_bits), std::uint8_t{0});
  for (int value = 0; value < kValues; ++value) {
    const int code = s.codes[value] + 32;
    const int half = value / 128, quarter = value % 128 / 32, i = value % 32;
    to.nibbles[half * 64 + quarter % 2 * 32 + i] |=
        static_cast<std::uint8_t>((code & 15) << (quarter / 2 * 4));
    to.high_bits[half * 32 + i] |= static_cast<std::uint8_t>((code >> 4) << (quarter * 2));
  }
}

}  // namespace tandem
