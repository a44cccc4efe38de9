// SPDX-License-Identifier: Apache-2.0
//
// The threshold of MiCRO and ExDyna: it follows the counts of all ranks, so it is equal on all.
//
// Before the first count it is the mean over ranks of the k-th largest magnitude (one all-reduce of
// 8 bytes). The published rule multiplies it by 1.005, 1.00125, 0.9987 or 0.995 (its inner test is
// always true; here it is the one that was meant). By default the logarithm moves by kGain of the
// logarithm of count / k, and by the trend that this error leaves: residuals grow for many steps,
// and a threshold that only follows would stay behind them.
#pragma once

#include <cstdint>

#include "collectives/sparsifier/algorithm.h"

namespace tandem::collectives {

class ThresholdControl {
 public:
  explicit ThresholdControl(bool published) : published_(published) {}

  // 0: not known yet, because every gradient so far was zero.
  float threshold() const { return static_cast<float>(threshold_); }
  bool seeded() const { return threshold_ > 0; }
  void seed(StepContext& context, double own_threshold, const ReduceOptions& options);
  // count: entries that all ranks selected with the threshold; goal: k.
  void follow(std::uint64_t count, std::uint64_t goal);

  void save(SparsifierState& state) const;
  void load(const SparsifierState& state);

 private:
  bool published_;
  double threshold_ = 0;
  double trend_ = 0;
};

// The entries of [begin, end) with |value| >= threshold; the largest one if there are none.
Indices select_at_least_one(std::span<const float> values, std::uint64_t begin, std::uint64_t end,
                            const ThresholdControl& control, ThreadPool* threads);

}  // namespace tandem::collectives
