// SPDX-License-Identifier: Apache-2.0
//
// Linear: checks, the split into parts, and the two ways to multiply.
#include "cpu/linear.h"

#include <algorithm>
#include <limits>

#include "common/error.h"
#include "cpu/kernels/matmul.h"
#include "cpu/kernels/matvec.h"
#include "cpu/slices.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kSmallBytes = std::size_t{32} << 10;  // less is quicker on the caller alone
constexpr std::size_t kMinPartBytes = std::size_t{16} << 10;
constexpr std::size_t kMaxPartBytes = std::size_t{256} << 10;
constexpr std::size_t kPartsPerThread = 8;
constexpr std::int64_t kOutputsStep = 4;  // what the few-rows kernel takes at a time

}  // namespace

void Linear::resolve(const LinearOp& op) {
  targets_.clear();
  if (op.rows < 0) throw Error("cpu", "linear: rows is negative");
  for (const LinearTarget& t : op.targets) {
    Target target;
    const std::int64_t in =
        targets_.empty() ? 0 : targets_.front().weight->in_features();  // all share x
    target.weight = &cpu_weight(t.weight, 0, in, "linear: weight");
    if (t.bias != nullptr) {
      target.bias =
          cpu_weight(t.bias, 1, target.weight->out_features(), "linear: bias").vector().data();
    }
    target.out = floats(t.out, op.rows * target.weight->out_features(), "linear: out");
    target.accumulate = t.accumulate;
    targets_.push_back(target);
  }
}

void Linear::split(std::int64_t multiple, std::int64_t max_outputs, std::size_t part_bytes) {
  parts_.clear();
  for (std::size_t index = 0; index < targets_.size(); ++index) {
    const CpuWeight& weight = *targets_[index].weight;
    const auto by_bytes =
        static_cast<std::int64_t>(part_bytes / weight.row_bytes()) / multiple * multiple;
    const std::int64_t outputs = std::clamp(by_bytes, multiple, max_outputs);
    for (std::int64_t begin = 0; begin < weight.out_features(); begin += outputs) {
      parts_.push_back({index, begin, std::min(begin + outputs, weight.out_features())});
    }
  }
}

std::uint64_t Linear::run(const LinearOp& op) {
  resolve(op);
  if (op.rows == 0 || targets_.empty()) return 0;
  const std::int64_t in_features = targets_.front().weight->in_features();
  const float* x = floats(op.x, op.rows * in_features, "linear: x");
  if (op.rows <= kFewRows) {
    run_few(x, op.rows, in_features);
  } else {
    run_many(x, op.rows, in_features);
  }
  std::uint64_t bytes = 0;
  for (const Target& target : targets_) bytes += target.weight->size_bytes();
  return bytes;
}

void Linear::run_few(const float* x, std::int64_t rows, std::int64_t in_features) {
  std::size_t bytes = 0;
  for (const Target& target : targets_) bytes += target.weight->size_bytes();
  const std::size_t even = bytes / (kPartsPerThread * team_.size());
  split(kOutputsStep, std::numeric_limits<std::int64_t>::max() / 2,
        std::clamp(even, kMinPartBytes, kMaxPartBytes));
  const auto multiply = [&](std::size_t index, std::size_t) {
    const Part& part = parts_[index];
    const Target& target = targets_[part.target];
    FewRows task;
    task.dtype = target.weight->dtype();
    task.weights = target.weight->row(part.begin);
    task.row_bytes = target.weight->row_bytes();
    task.in_features = in_features;
    task.x = x;
    task.rows = rows;
    task.y = target.out + part.begin;
    task.y_stride = target.weight->out_features();
    task.bias = target.bias == nullptr ? nullptr : target.bias + part.begin;
    task.accumulate = target.accumulate;
    multiply_few_rows(task, part.end - part.begin);
  };
  if (bytes * rows <= kSmallBytes) {
    for (std::size_t index = 0; index < parts_.size(); ++index) multiply(index, 0);
  } else {
    team_.run(parts_.size(), multiply);
  }
}

void Linear::run_many(const float* x, std::int64_t rows, std::int64_t in_features) {
  split(1, kTaskOutputs, std::numeric_limits<std::size_t>::max() / 2);
  for (std::int64_t first = 0; first < rows; first += kMaxPackedRows) {
    const std::size_t count =
        std::min<std::size_t>(kMaxPackedRows, static_cast<std::size_t>(rows - first));
    const std::size_t panels = (count + kPanelRows - 1) / kPanelRows;
    const std::size_t panel_size = in_features * kPanelRows;
    packed_.resize(std::max(packed_.size(), panels * panel_size));
    team_.run(panels, [&](std::size_t panel, std::size_t) {
      pack_panel(x + first * in_features, count, in_features, panel,
                 packed_.data() + panel * panel_size);
    });
    team_.run(parts_.size(), [&](std::size_t index, std::size_t worker) {
      const Part& part = parts_[index];
      const Target& target = targets_[part.target];
      ManyRows task;
      task.dtype = target.weight->dtype();
      task.weights = target.weight->row(part.begin);
      task.row_bytes = target.weight->row_bytes();
      task.in_features = in_features;
      task.packed = packed_.data();
      task.rows = count;
      task.y_stride = target.weight->out_features();
      task.y = target.out + first * task.y_stride + part.begin;
      task.bias = target.bias == nullptr ? nullptr : target.bias + part.begin;
      task.accumulate = target.accumulate;
      multiply_many_rows(task, part.end - part.begin, workspaces_[worker]);
    });
  }
}

}  // namespace tandem::device::cpu
