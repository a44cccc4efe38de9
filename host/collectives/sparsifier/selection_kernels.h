// SPDX-License-Identifier: Apache-2.0
//
// The loops over gradients that sparsifiers share, for AVX-512, AVX2 and the baseline, chosen at
// run time.
//
// Numerics: sums are in f64, in 16 interleaved partial sums, so every instruction set gives the
// same bits. Threads: any; no allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::collectives {

// The number of entries that find_large() may write after the entries that it found.
constexpr std::size_t kSelectionSlack = 16;

// Moments of the magnitudes |x|, unless stated otherwise.
struct Moments {
  double sum = 0;
  double signed_sum = 0;  // of x
  double squares = 0;
  double log_sum = 0;  // of ln |x|, over `positive`; zeros and subnormal values are left out
  std::uint64_t positive = 0;
  std::uint64_t count = 0;
  float largest = 0;

  void add(const Moments& other);
};

enum class Logarithms : std::uint8_t { kNo, kYes };

// to[i] += from[i]
void add_gradient(float* to, const float* from, std::size_t count);

// velocity = momentum * velocity + scale * gradient; to += velocity
struct MomentumStep {
  float momentum;
  float scale;
};
void add_velocity(MomentumStep step, float* velocity, float* to, const float* gradient,
                  std::size_t count);

// The first place of a NaN or an infinity; `count` if there is none.
std::size_t find_non_finite(const float* values, std::size_t count);

// Appends first + i for every |values[i]| >= threshold, ascending; returns how many. `places`, and
// `magnitudes` with the |values[i]|, have room for count + kSelectionSlack.
std::size_t find_large(const float* values, std::size_t count, float threshold, std::uint32_t first,
                       std::uint32_t* places);
std::size_t find_large(const float* values, std::size_t count, float threshold, std::uint32_t first,
                       std::uint32_t* places, float* magnitudes);

// The same as the first overload, and counts in the same pass the values that reach two more
// thresholds.
struct CountsBeside {
  float below, above;  // thresholds
  std::uint64_t reach_below = 0, reach_above = 0;
};
std::size_t find_large(const float* values, std::size_t count, float threshold, std::uint32_t first,
                       std::uint32_t* places, CountsBeside& beside);

// Copies places[i] for every magnitudes[i] >= threshold; returns how many. `to`: room as for
// find_large().
std::size_t keep_large(const std::uint32_t* places, const float* magnitudes, std::size_t count,
                       float threshold, std::uint32_t* to);

// How many |values[i]| >= threshold.
std::size_t count_at_least(const float* values, std::size_t count, float threshold);

// values: at most 4096.
Moments measure_moments(const float* values, std::size_t count, Logarithms logarithms);

// Only reads every value: the reference for a selection's time.
std::uint32_t read_plainly(const float* values, std::size_t count);

}  // namespace tandem::collectives
