// SPDX-License-Identifier: Apache-2.0
//
// Prefix sums of the layers.
#include "planner/pipeline/stage_loads.h"

#include <algorithm>
#include <string>

#include "common/error.h"

namespace tandem::planner {
namespace {

[[noreturn]] void refuse_stages(const std::string& what) { throw Error("balance", what); }

void check_layer(const LayerCost& cost, std::size_t layer, const StageRules& rules) {
  const std::string name = "layer " + std::to_string(layer);
  if (cost.time_ps < 0 || cost.bytes < 0) refuse_stages(name + " has a negative time or size");
  if (cost.bytes > rules.stage_bytes) {
    refuse_stages(name + " needs " + std::to_string(cost.bytes) +
                  " bytes and fits no stage: a stage has " + std::to_string(rules.stage_bytes));
  }
}

}  // namespace

StageLoads::StageLoads(std::span<const LayerCost> layers, const StageRules& rules)
    : rules_(rules), time_sums_ps_{0}, byte_sums_{0} {
  if (rules.num_stages < 1) refuse_stages("a pipeline has at least one stage");
  if (layers.size() < static_cast<std::size_t>(rules.num_stages)) {
    refuse_stages(std::to_string(layers.size()) + " layers cannot fill " +
                  std::to_string(rules.num_stages) +
                  " stages: every stage has at least one layer; ask for fewer stages");
  }
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const LayerCost& cost = layers[layer];
    check_layer(cost, layer, rules);
    if (cost.time_ps > kMostPicoseconds - time_sums_ps_.back()) {
      refuse_stages("the layers take more than " +
                    std::to_string(kMostPicoseconds / kPicosecondsPerUs) + " us together");
    }
    if (cost.bytes > kNoStageLimit - byte_sums_.back()) {
      refuse_stages("the layers need more bytes together than 64 bits count");
    }
    longest_layer_ps_ = std::max(longest_layer_ps_, cost.time_ps);
    time_sums_ps_.push_back(time_sums_ps_.back() + cost.time_ps);
    byte_sums_.push_back(byte_sums_.back() + cost.bytes);
  }
}

std::vector<std::int64_t> StageLoads::stage_times_ps(const Cuts& cuts) const {
  std::vector<std::int64_t> times;
  for (int stage = 0; stage < rules_.num_stages; ++stage) {
    times.push_back(time_ps(begin_of(cuts, stage), end_of(cuts, stage)));
  }
  return times;
}

std::vector<std::int64_t> StageLoads::stage_bytes(const Cuts& cuts) const {
  std::vector<std::int64_t> sizes;
  for (int stage = 0; stage < rules_.num_stages; ++stage) {
    sizes.push_back(bytes(begin_of(cuts, stage), end_of(cuts, stage)));
  }
  return sizes;
}

std::int64_t StageLoads::bottleneck_ps(const Cuts& cuts) const {
  return std::ranges::max(stage_times_ps(cuts));
}

bool StageLoads::fits_memory(const Cuts& cuts) const {
  return std::ranges::max(stage_bytes(cuts)) <= rules_.stage_bytes;
}

std::int64_t StageLoads::least_bottleneck_ps() const {
  const std::int64_t share = (time_sums_ps_.back() + rules_.num_stages - 1) / rules_.num_stages;
  return std::max(longest_layer_ps_, share);
}

void StageLoads::check(const Cuts& cuts) const {
  if (cuts.size() + 1 != static_cast<std::size_t>(rules_.num_stages)) {
    refuse_stages(std::to_string(rules_.num_stages) + " stages have " +
                  std::to_string(rules_.num_stages - 1) + " cuts between them, not " +
                  std::to_string(cuts.size()));
  }
  for (int stage = 0; stage < rules_.num_stages; ++stage) {
    if (begin_of(cuts, stage) >= end_of(cuts, stage)) {
      refuse_stages("cuts are layers in ascending order, from 1 to " +
                    std::to_string(num_layers() - 1) + "; stage " + std::to_string(stage) +
                    " would have no layer");
    }
  }
}

Cuts equal_counts(int num_layers, int num_stages) {
  Cuts cuts;
  for (std::int64_t stage = 1; stage < num_stages; ++stage) {
    cuts.push_back(static_cast<int>(stage * num_layers / num_stages));
  }
  return cuts;
}

}  // namespace tandem::planner
