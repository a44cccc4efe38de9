// SPDX-License-Identifier: Apache-2.0
//
// StageLoads: the time and memory of contiguous pipeline stages, each sum in O(1).
//
// Times are whole picoseconds, so sums and comparisons are exact for times in microseconds with up
// to six decimals. A cut is the index of a stage's first layer; stage 0 begins at layer 0 and
// has no cut.
// Every stage has at least one layer. Threads: immutable values. Errors: Error that names the layer
// or the limit.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tandem::planner {

constexpr std::int64_t kPicosecondsPerUs = 1'000'000;
// Limit of the sum over all layers, so that sums fit into 64 bits.
constexpr std::int64_t kMostPicoseconds = std::int64_t{1} << 60;
constexpr std::int64_t kNoStageLimit = std::numeric_limits<std::int64_t>::max();

struct LayerCost {
  std::int64_t time_ps = 0;
  std::int64_t bytes = 0;  // weights, gradients and optimiser state of the layer
};

// [num_stages - 1] ascending: the first layer of the second stage, of the third, ...
using Cuts = std::vector<int>;

struct StageRules {
  int num_stages = 1;
  std::int64_t stage_bytes = kNoStageLimit;  // limit of each stage
};

class StageLoads {
 public:
  // Throws Error if there are fewer layers than stages, or if a layer or all layers together exceed
  // the memory limit.
  StageLoads(std::span<const LayerCost> layers, const StageRules& rules);

  int num_layers() const { return static_cast<int>(time_sums_ps_.size()) - 1; }
  const StageRules& rules() const { return rules_; }

  // Sums over the layers begin .. end - 1.
  std::int64_t time_ps(int begin, int end) const {
    return time_sums_ps_[static_cast<std::size_t>(end)] -
           time_sums_ps_[static_cast<std::size_t>(begin)];
  }
  std::int64_t bytes(int begin, int end) const {
    return byte_sums_[static_cast<std::size_t>(end)] - byte_sums_[static_cast<std::size_t>(begin)];
  }
  // Returns whether one stage can hold these layers within the memory limit and `limit_ps`.
  bool fits(int begin, int end, std::int64_t limit_ps) const {
    return time_ps(begin, end) <= limit_ps && bytes(begin, end) <= rules_.stage_bytes;
  }

  // The first layer of a stage, and the one after its last.
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

  // A lower bound for every partition: the longest layer, or an equal share of the total if that is
  // more.
  std::int64_t least_bottleneck_ps() const;

  // Throws Error unless `cuts` are num_stages - 1 ascending layers that leave no stage empty.
  void check(const Cuts& cuts) const;

 private:
  StageRules rules_;
  std::int64_t longest_layer_ps_ = 0;
  // [num_layers + 1] sums over all earlier layers
  std::vector<std::int64_t> time_sums_ps_, byte_sums_;
};

// Returns stages with equal numbers of layers (as far as divisible), as a static pipeline has them.
Cuts equal_counts(int num_layers, int num_stages);

}  // namespace tandem::planner
