// SPDX-License-Identifier: Apache-2.0
//
// Computes the layers of a step one by one, with the times at which devices and links become free.
// After eight layers the time of a further layer is that of the last four, because the order of the
// work never changes.
#include "planner/mode/step_time.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tandem::planner {
namespace {

constexpr int kWalkedLayers = 8, kRegularLayers = 4;
constexpr std::size_t kMostBatches = 2;

// For one layer of a sub-batch.
struct LayerTime {
  double dense = 0, own = 0, merge = 0, submit = 0;
};

bool has_price(const UnitModel& unit) { return unit.early_submit_s > 0 || unit.append_s > 0; }

LayerTime layer_time(const MachineModel& machine, const SubBatch& batch, bool early) {
  LayerTime time;
  const double layers = machine.num_layers;
  time.dense = machine.compute.dense_s(batch.rows) / layers + machine.compute.launch_s;
  time.own = batch.causal_pairs * machine.causal_pair_s;
  double partials = 0;
  for (std::size_t u = 0; u < machine.units.size(); ++u) {
    const UnitModel& unit = machine.units[u];
    const AttentionWork& work = batch.units[u];
    if (work.rows <= 0) continue;
    if (unit.is_own) {
      time.own += unit.launch_s + unit.attention.seconds(work);
      continue;
    }
    partials += work.rows;
    if (!early || !has_price(unit)) continue;
    partials += work.rows;
    time.own += work.rows * machine.causal_pair_s;
    time.submit += unit.early_submit_s;
  }
  time.merge = partials * machine.compute.merge_row_s;
  return time;
}

class Walk {
 public:
  Walk(const MachineModel& machine, std::span<const SubBatch> batches, bool early, StepTime& time)
      : machine_(machine),
        batches_(batches),
        early_share_(early ? machine.early_share : 0),
        time_(time) {
    for (std::size_t b = 0; b < batches.size(); ++b) {
      layers_[b] = layer_time(machine, batches[b], early);
    }
    time_.units.assign(machine.units.size(), 0);
    time_.links.assign(machine.units.size(), 0);
    list_parts();
  }

  double all_layers() {
    const int num_layers = machine_.num_layers;
    const int walked = std::min(num_layers, kWalkedLayers);
    double before = 0, end = 0;
    for (int layer = 0; layer < walked; ++layer) {
      end = one_layer();
      if (layer + 1 == walked - kRegularLayers) before = end;
    }
    if (num_layers == walked) return end;
    return end + (num_layers - walked) * (end - before) / kRegularLayers;
  }

 private:
  // A part of a sub-batch on a unit elsewhere.
  struct Part {
    std::size_t unit = 0;
    double to = 0, busy = 0, from = 0, append = 0;
  };

  void list_parts() {
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      begin_[b] = parts_.size();
      for (std::size_t u = 0; u < machine_.units.size(); ++u) {
        const UnitModel& unit = machine_.units[u];
        const AttentionWork& work = batches_[b].units[u];
        if (unit.is_own || work.rows <= 0) continue;
        Part part{u, unit.to_unit.seconds(work.rows * machine_.bytes_to_unit),
                  unit.launch_s + unit.attention.seconds(work),
                  unit.from_unit.seconds(work.rows * machine_.bytes_from_unit),
                  early_share_ > 0 ? unit.append_s : 0};
        parts_.push_back(part);
        time_.units[u] += machine_.num_layers * part.busy;
        time_.links[u] += machine_.num_layers * (part.to + part.from);
      }
      begin_[b + 1] = parts_.size();
      time_.dense += machine_.num_layers * layers_[b].dense;
      time_.own_attention += machine_.num_layers * layers_[b].own;
      time_.merge += machine_.num_layers * layers_[b].merge;
    }
    free_.assign(machine_.units.size(), 0);
  }

  // Returns when both sub-batches are through it.
  double one_layer() {
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      const LayerTime& layer = layers_[b];
      // The merge of the layer before stands here, so that the last one is counted too.
      const double projected =
          std::max(compute_free_, done_[b]) + layer.merge + layer.submit + layer.dense;
      const double asked = projected - early_share_ * layer.dense;
      compute_free_ = projected + layer.own;
      double answered = compute_free_;
      for (std::size_t i = begin_[b]; i < begin_[b + 1]; ++i) {
        const Part& part = parts_[i];
        double& unit_free = free_[part.unit];
        unit_free = std::max(unit_free, asked + part.to) + part.busy;
        answered = std::max({answered, unit_free + part.from, projected + part.append});
      }
      done_[b] = answered;
    }
    return std::max(done_[0], done_[1]);
  }

  const MachineModel& machine_;
  const std::span<const SubBatch> batches_;
  const double early_share_;
  StepTime& time_;
  std::array<LayerTime, kMostBatches> layers_;
  std::array<std::size_t, kMostBatches + 1> begin_{};  // into parts_
  std::array<double, kMostBatches> done_{};
  double compute_free_ = 0;
  std::vector<Part> parts_;   // in order of sub-batches
  std::vector<double> free_;  // [units]
};

}  // namespace

void SubBatch::clear() {
  rows = sampled = causal_pairs = 0;
  std::ranges::fill(units, AttentionWork());
}

void step_time(const MachineModel& machine, std::span<const SubBatch> batches, bool early_queries,
               StepTime& time) {
  time.early_queries = early_queries && machine.early_share > 0;
  time.dense = time.own_attention = time.merge = time.sampling = 0;
  time.host = machine.host_s;
  double sampled = 0;
  for (const SubBatch& batch : batches) sampled += batch.sampled;
  const double layers = Walk(machine, batches, time.early_queries, time).all_layers();
  const DeviceCost& compute = machine.compute;
  time.sampling = sampled > 0 ? compute.sampling_s + sampled * compute.sampling_row_s : 0;
  time.total = layers + time.sampling + time.host;
  time.waiting = std::max(0.0, time.total - time.host - time.compute_busy());
}

void step_time(const MachineModel& machine, std::span<const SubBatch> batches, StepTime& time) {
  step_time(machine, batches, true, time);
  if (!time.early_queries || std::ranges::none_of(machine.units, has_price)) return;
  StepTime whole;
  step_time(machine, batches, false, whole);
  if (whole.total <= time.total) std::swap(time, whole);
}

StepTime step_time(const MachineModel& machine, std::span<const SubBatch> batches) {
  StepTime time;
  step_time(machine, batches, time);
  return time;
}

}  // namespace tandem::planner
