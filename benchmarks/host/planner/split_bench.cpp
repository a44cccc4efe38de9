// SPDX-License-Identifier: Apache-2.0
//
// Layers on two CPU units of unequal speed, planned and in equal shares, in turns.
//
// A model is 16 matrices of 4096 x 4096 in q8_0, multiplied one after the other with one row. The
// first unit has one thread, the second all of them; it has memory for three quarters of the
// layers, then for all. plan_split() gets the measured time of all layers on each unit alone.
// Figures: the step in equal shares, the planned step, the plan's prediction, and the ratio of the
// first two per turn.
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "cpu/backend.h"
#include "drivers/cpu/samples.h"
#include "parallel/device.h"
#include "planner/split/split_plan.h"
#include "tensor/dtype.h"

namespace tandem::bench {
namespace {

using device::parallel::ParallelDevice;

constexpr int kLayers = 16, kTurns = 41;
constexpr std::int64_t kWidth = 4096;

// The layers on some unit, with the rows between them.
class LayerRun {
 public:
  LayerRun(std::unique_ptr<device::Device> device, const std::vector<std::byte>& matrix)
      : device_(std::move(device)), unit_(device_->make_compute_unit()) {
    for (int layer = 0; layer < kLayers; ++layer) {
      weights_.push_back(unit_->load({.dtype = DType::kQ8_0,
                                      .out_features = kWidth,
                                      .in_features = kWidth,
                                      .data = matrix.data(),
                                      .layer = layer}));
    }
    for (auto& rows : rows_) {
      rows = unit_->allocate(kWidth * sizeof(float), device::MemoryKind::kDevice);
    }
    const auto host = unit_->allocate(kWidth * sizeof(float), device::MemoryKind::kHost);
    std::memset(host->host().data(), 0, host->size_bytes());
    unit_->enqueue(device::CopyOp{host->size_bytes(), {host.get(), 0}, {rows_[0].get(), 0}});
    step();
  }

  double step() {
    return seconds([&] {
      for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
        const device::LinearTarget target{.weight = weights_[layer].get(),
                                          .out = {rows_[(layer + 1) % 2].get(), 0}};
        unit_->enqueue(
            device::LinearOp{.rows = 1, .x = {rows_[layer % 2].get(), 0}, .targets = {&target, 1}});
      }
      (void)unit_->wait(unit_->record(), Deadline::never());
    });
  }

 private:
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<device::ComputeUnit> unit_;
  std::vector<std::unique_ptr<device::Weight>> weights_;
  std::unique_ptr<device::Buffer> rows_[2];
};

std::unique_ptr<device::Device> cpu_of(int threads) {
  return device::cpu_backend().open(0, {.num_threads = threads, .pin = Pin::kOff});
}

const int kThreads[] = {1, static_cast<int>(std::thread::hardware_concurrency())};

std::unique_ptr<device::Device> group_of(const std::vector<int>& devices,
                                         const std::vector<int>& layers) {
  std::vector<std::unique_ptr<device::Device>> parts;
  for (const int device : devices) parts.push_back(cpu_of(kThreads[device]));
  return std::make_unique<ParallelDevice>(
      std::move(parts),
      device::parallel::ParallelOptions{device::GroupSplit::kLayers, kLayers, layers});
}

// quarters: of the layers, for which the fast unit has memory.
void measure(int quarters) {
  // The bytes do not change the time; these are small numbers and scales.
  const std::vector<std::byte> matrix(kWidth * dtype_row_bytes(DType::kQ8_0, kWidth),
                                      std::byte{0x2c});
  const auto layer_bytes = static_cast<std::int64_t>(matrix.size());
  planner::SplitModel model;
  model.num_layers = kLayers;
  model.layer_bytes = layer_bytes;
  model.output_bytes = 1;  // none; 0 would be the embedding's
  model.row_bytes = kWidth * sizeof(float);
  std::vector<planner::SplitDevice> units(2);
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    LayerRun alone(cpu_of(kThreads[unit]), matrix);
    std::vector<double> times;
    for (int i = 0; i < 9; ++i) times.push_back(alone.step());
    units[unit].cost.id = unit == 0 ? "slow" : "fast";
    units[unit].cost.dense_by_rows = planner::Curve({{1, quantile(times, 0.5)}});
    units[unit].memory_bytes =
        unit == 0 ? 100 * layer_bytes : layer_bytes * kLayers * quarters / 4 + 1;
  }
  const planner::SplitLoad load{0, 1};
  const planner::SplitPlan plan = planner::plan_split(model, units, load);
  LayerRun equal(group_of({0, 1}, {kLayers / 2, kLayers / 2}), matrix);
  LayerRun planned(group_of(plan.devices, plan.layers_per_device), matrix);
  std::vector<double> equal_ms, planned_ms, ratios;
  for (int turn = 0; turn < kTurns; ++turn) {
    equal_ms.push_back(equal.step() * 1e3);
    planned_ms.push_back(planned.step() * 1e3);
    ratios.push_back(equal_ms.back() / planned_ms.back());
  }
  print_figure("layers in equal shares", equal_ms, "ms",
               {{"predicted_ms", plan.equal_seconds * 1e3}});
  print_figure("layers as planned", planned_ms, "ms",
               {{"predicted_ms", plan.seconds * 1e3},
                {"layers", plan.layers_per_device},
                {"fast_holds_quarters", quarters}});
  print_figure("equal shares / planned", ratios, "x",
               {{"slow_over_fast", units[0].cost.dense_s(1) / units[1].cost.dense_s(1)}});
}

}  // namespace
}  // namespace tandem::bench

int main() {
  tandem::bench::measure(3);
  tandem::bench::measure(4);
}
