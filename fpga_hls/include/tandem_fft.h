// SPDX-License-Identifier: Apache-2.0
//
// Part of hls_fft.h: the transform, in fixed-point arithmetic and in floating point.
//
// Decimation in frequency. A stage is two levels of butterflies (one with radix 2, and the last one
// of an odd number), then a factor of the circle and a shift by two bits of the schedule. A product
// keeps five bits behind the data's last one, rounded; the shift then truncates or rounds once.
// With 16 bits, streaming architecture and truncation these are the bits of the core's own model.
// Source: FFT product guide (PG109), "Finite Word Length Considerations". C++11.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "tandem_fixed_raw.h"
#include "tandem_macros_begin.h"

namespace hls {
namespace fft_detail {

using core_detail::Raw;
using core_detail::Wide;

struct Point {
  Wide re, im;
};

struct Settings {
  unsigned log2_length;
  int width;         // of the data between stages
  int phase_width;   // of the factors
  unsigned levels;   // of butterflies per stage: 2, or 1 with radix 2
  bool scaled;       // by the schedule
  bool block_float;  // by the greatest value of a stage
  core_detail::Rounding rounding;
};

struct Verdict {
  bool overflow;
  unsigned exponent;  // bits by which all stages have shifted
};

inline unsigned reversed_bits(unsigned value, unsigned bits) {
  unsigned result = 0;
  for (unsigned bit = 0; bit < bits; ++bit) result |= ((value >> bit) & 1U) << (bits - 1 - bit);
  return result;
}

class FixedTransform {
 public:
  FixedTransform(const Settings& settings, bool forward, unsigned schedule)
      : settings_(settings), forward_(forward), schedule_(schedule), verdict_() {}

  // The result is in bit-reversed order.
  Verdict run(std::vector<Point>& data) {
    unsigned log2_block = settings_.log2_length;
    while (log2_block > 0) {
      const unsigned levels = std::min(settings_.levels, log2_block);
      for (std::size_t base = 0; base < data.size(); base += std::size_t(1) << log2_block) {
        block(data, base, log2_block, levels);
      }
      finish(data);
      log2_block -= levels;
    }
    return verdict_;
  }

 private:
  static const int kGuard = 5;

  void block(std::vector<Point>& data, std::size_t base, unsigned log2_block, unsigned levels) {
    const std::size_t length = std::size_t(1) << log2_block;
    const std::size_t part = length >> levels;
    for (std::size_t n = 0; n < part; ++n) {
      Point in[4];
      for (std::size_t k = 0; k < length / part; ++k) in[k] = data[base + n + k * part];
      if (levels == 1) {
        data[base + n] = turned(sum(in[0], in[1]), 0, length);
        data[base + n + part] = turned(difference(in[0], in[1]), n, length);
        continue;
      }
      const Point even = sum(in[0], in[2]), odd = sum(in[1], in[3]);
      const Point first = difference(in[0], in[2]);
      const Point second = quarter_turn(difference(in[1], in[3]));
      data[base + n] = turned(sum(even, odd), 0, length);
      data[base + n + part] = turned(difference(even, odd), 2 * n, length);
      data[base + n + 2 * part] = turned(sum(first, second), n, length);
      data[base + n + 3 * part] = turned(difference(first, second), 3 * n, length);
    }
  }

  static Point sum(const Point& a, const Point& b) { return Point{a.re + b.re, a.im + b.im}; }
  static Point difference(const Point& a, const Point& b) {
    return Point{a.re - b.re, a.im - b.im};
  }
  Point quarter_turn(const Point& a) const {
    return forward_ ? Point{a.im, -a.re} : Point{-a.im, a.re};
  }

  // Times the factor at `step` of `length` on the circle; with kGuard bits more.
  Point turned(const Point& a, std::size_t step, std::size_t length) const {
    const double angle = (forward_ ? -2.0 : 2.0) * 3.14159265358979323846 *
                         static_cast<double>(step) / static_cast<double>(length);
    const int fraction = settings_.phase_width - 1;
    const Wide re = static_cast<Wide>(std::floor(std::ldexp(std::cos(angle), fraction) + 0.5));
    const Wide im = static_cast<Wide>(std::floor(std::ldexp(std::sin(angle), fraction) + 0.5));
    const int drop = fraction - kGuard;
    return Point{core_detail::shifted(a.re * re - a.im * im, drop, core_detail::Rounding::half_up),
                 core_detail::shifted(a.re * im + a.im * re, drop, core_detail::Rounding::half_up)};
  }

  // The shift of one stage, and the data's width again.
  void finish(std::vector<Point>& data) {
    unsigned shift = 0;
    if (settings_.scaled) {
      shift = schedule_ & 3U;
      schedule_ >>= 2;
    }
    if (settings_.block_float) shift = needed_shift(data);
    verdict_.exponent += shift;
    for (Point& point : data) {
      point.re = fitted(point.re, shift);
      point.im = fitted(point.im, shift);
    }
  }
  unsigned needed_shift(const std::vector<Point>& data) const {
    const Wide limit = static_cast<Wide>(1) << (settings_.width - 1 + kGuard);
    unsigned shift = 0;
    for (const Point& point : data) {
      while (!fits(point.re, shift, limit) || !fits(point.im, shift, limit)) ++shift;
    }
    return shift;
  }
  // Rounding may still add one: a value of one bit less always fits.
  static bool fits(Wide value, unsigned shift, Wide limit) {
    const Wide bound = limit << shift;
    return value >= -bound && value < bound - (static_cast<Wide>(1) << (kGuard + shift));
  }
  Wide fitted(Wide value, unsigned shift) {
    const Wide result =
        core_detail::shifted(value, kGuard + static_cast<int>(shift), settings_.rounding);
    const Raw kept = core_detail::signed_bits(result, settings_.width);
    if (kept != result) verdict_.overflow = true;
    return kept;
  }

  Settings settings_;
  bool forward_;
  unsigned schedule_;
  Verdict verdict_;
};

// In double precision; the result is in natural order.
inline void float_transform(std::vector<std::complex<double>>& data, bool forward) {
  unsigned bits = 0;
  while ((std::size_t(1) << bits) < data.size()) ++bits;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::size_t other = reversed_bits(static_cast<unsigned>(i), bits);
    if (i < other) std::swap(data[i], data[other]);
  }
  for (std::size_t length = 2; length <= data.size(); length *= 2) {
    const double angle = (forward ? -2.0 : 2.0) * 3.14159265358979323846 / double(length);
    for (std::size_t n = 0; n < length / 2; ++n) {
      const std::complex<double> factor = std::polar(1.0, angle * static_cast<double>(n));
      for (std::size_t at = n; at < data.size(); at += length) {
        const std::complex<double> a = data[at], b = data[at + length / 2] * factor;
        data[at] = a + b;
        data[at + length / 2] = a - b;
      }
    }
  }
}

}  // namespace fft_detail
}  // namespace hls

#include "tandem_macros_end.h"
