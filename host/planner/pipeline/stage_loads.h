// SPDX-License-Identifier: Apache-2.0
//
// What contiguous stages of a pipeline cost: StageLoads sums layers between two cuts in O(1).
//
// Times are whole picoseconds, so that sums and comparisons are exact for times in microseconds
// with up to six decimals. A cut is the first layer of a stage; the first stage has none. Every
// stage has at least one layer. Threads: immutable values. Errors: Error naming what does not fit.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tandem::planner {

constexpr std::int64_t kPicosecondsPerUs = 1'000'000;
// Of all layers together: sums of layers stay far below the range of 64 bits.
constexpr std::int64_t kMostPicoseconds = std::int64_t{1} << 60;
constexpr std::int64_t kNoStageLimit = std::numeric_limits<std::int64_t>::max();

struct LayerCost {
  std::int64_t time_ps = 0;
  std::int64_t bytes = 0;  // weights, gradients and optimiser state, where the layer lies
};

// [num_stages - 1] ascending: the first layer of the second stage, of the third, ...
using Cuts = std::vector<int>;

struct StageRules {
  int num_stages = 1;
  std::int64_t stage_bytes = kNoStageLimit;  // at most, in each stage
};

class StageLoads {
 public:
  // Throws Error where there are fewer layers than stages, or where a layer or all layers together
  // need more memory than there is.
  StageLoads(std::span<const LayerCost> layers, const StageRules& rules);

  int num_layers() const { return static_cast<int>(time_sums_ps_.size()) - 1; }
  const StageRules& rules() const { return rules_; }

  // Of the layers begin .. end - 1.
  std::int64_t time_ps(int begin, int end) const {
    return time_sums_ps_[static_cast<std::size_t>(end)] -
           time_sums_ps_[static_cast<std::size_t>(begin)];
  }
  std::int64_t bytes(int begin, int end) const {
    return byte_sums_[static_cast<std::size_t>(end)] - byte_sums_[static_cast<std::size_t>(begin)];
  }
  // Whether one stage can hold these layers within the memory and in `limit_ps`.
  bool fits(int begin, int end, std::int64_t limit_ps) const {
    return time_ps(begin, end) <= limit_ps && bytes(begin, end) <= rules_.stage_bytes;
  }

  // Bounds of a stage: `cuts` with 0 in front and the number of layers behind.
  int begin_of(const Cuts& cuts, int stage) const {
    return stage == 0 ? 0 : cuts[static_cast<std::size_t>(stage) - 1];
  }
  int end_of(const Cuts& cuts, int stage) const {
    return stage == rules_.num_stages - 1 ? num_layers() : cuts[static_cast<std::size_t>(stage)];
  }
  // [num_stages]
  std::vector<std::int64_t> stage_times_ps(const Cuts& cuts) const;
  std::vector<std::int64_t> stage_bytes(const Cuts& cuts) const;
  std::int64_t bottleneck_ps(const Cuts& cuts) const;
  bool fits_memory(const Cuts& cuts) const;

  // No partition is faster: the longest layer, and an equal share of the whole.
  std::int64_t least_bottleneck_ps() const;

  // Throws Error unless `cuts` are num_stages - 1 ascending layers that leave no stage empty.
  void check(const Cuts& cuts) const;

 private:
  StageRules rules_;
  std::int64_t longest_layer_ps_ = 0;
  std::vector<std::int64_t> time_sums_ps_, byte_sums_;  // [num_layers + 1] of the layers before
};

// Stages with equal numbers of layers, as far as they divide: what a static pipeline begins with.
Cuts equal_counts(int num_layers, int num_stages);

}  // namespace tandem::planner
