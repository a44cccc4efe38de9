// SPDX-License-Identifier: Apache-2.0
//
// The threshold of MiCRO and ExDyna. It follows the counts of all ranks, so it is equal on all
// ranks.
//
// It begins as the mean over ranks of the k-th largest magnitude (one all-reduce of 8 bytes). The
// first steps measure it again, because residuals grow fast there; the difference is its trend.
// Later its logarithm changes by a fraction of the error count / k - 1 and by a fraction of the sum
// of past errors. Both are divided by the slope: the per cent by which the count falls when the
// threshold rises by one per cent. For the slope, ranks also send the number of entries above a
// slightly higher threshold. The published rule measures once, then multiplies by 1.005, 1.00125,
// 0.9987 or 0.995, as its paper describes it (the inner test of its code is always true).
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
  // Whether the step needs seed(). step: from 0, of the sparsifier.
  bool measures(std::uint64_t step) const {
    return !seeded() || (!published_ && step < kMeasuredSteps);
  }
  // own_threshold: the k-th largest magnitude of this rank. If it is zero on all ranks, nothing
  // changes.
  void seed(StepContext& context, double own_threshold, const ReduceOptions& options);
  // count: entries that all ranks selected with the threshold; goal: k. steep: how many of them
  // reach steep_threshold().
  void follow(std::uint64_t count, std::uint64_t steep, std::uint64_t goal);
  float steep_threshold() const { return static_cast<float>(threshold_ * kSteepFactor); }

  void save(SparsifierState& state) const;
  void load(const SparsifierState& state);

 private:
  static constexpr double kSteepFactor = 1.05;
  static constexpr std::uint64_t kMeasuredSteps = 24;

  bool published_;
  double threshold_ = 0;
  double trend_ = 0;
  double slope_ = 0;  // 0: no count yet
};

struct PartitionSelection {
  Indices indices;
  std::uint32_t steep = 0;  // entries that reach steep_threshold()
};

// The entries of [begin, end) with |value| >= threshold. If there are none, a second read finds the
// largest one.
PartitionSelection select_at_least_one(ResidualStore& store, std::uint64_t begin, std::uint64_t end,
                                       const ThresholdControl& control);

}  // namespace tandem::collectives
