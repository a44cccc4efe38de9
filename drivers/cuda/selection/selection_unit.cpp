// SPDX-License-Identifier: Apache-2.0
//
// Each call checks its arguments, makes room, then runs kernels and waits for them.
#include "cuda/selection/selection_unit.h"

#include <algorithm>

#include "cuda/selection/selection_memory.h"
#include "sparse/chunk_top.h"
#include "sparse/entries_at.h"
#include "sparse/gradient_sum.h"
#include "sparse/select_large.h"
#include "sparse/select_top.h"

namespace tandem::cuda {
namespace {

using device::AccumulateStep;
using device::GradientMoments;
using device::GradientView;
using device::ResidualView;
using device::SelectedEntries;
using device::SelectionRange;
using device::SelectionShape;
using gpu_kernels::AccumulateGradient;

constexpr std::uint64_t kLeastEntries = 4096;  // room for results from the first selection on

class CudaSelectionUnit final : public device::SelectionUnit {
 public:
  CudaSelectionUnit(int device_index, const device::DeviceInfo& info, const SelectionShape& shape)
      : name_(info.id), shape_(shape), memory_(device_index, info.id, shape) {}

  std::string name() const override { return name_; }
  SelectionShape shape() const override { return shape_; }

  bool accepts(const Placement& placement) const override {
    return placement.on_host() ||
           (placement.memory == tandem::Memory::kDevice && placement.device == name_);
  }

  GradientMoments accumulate(const GradientView& gradient, const AccumulateStep& step,
                             Deadline deadline) override {
    memory_.begin_call();
    check_gradient(*this, gradient, step.first);
    AccumulateGradient job;
    job.gradient = gradient.values.data();
    job.type = value_type(gradient.type);
    job.num_values = gradient.values.size() / dtype_block_bytes(gradient.type);
    job.residual = memory_.residual() + step.first;
    if (shape_.velocity) job.velocity = memory_.velocity() + step.first;
    job.momentum = step.momentum;
    job.scale = step.scale;
    job.decay = step.decay;
    job.clips = step.clip_at.has_value();
    job.clip_at = step.clip_at.value_or(0);
    job.logarithms = step.logarithms;
    return memory_.measure(job, &gradient, deadline);
  }

  GradientMoments moments_at_least(SelectionRange range, float threshold, bool logarithms,
                                   Deadline deadline) override {
    memory_.begin_call();
    check_range(*this, range);
    AccumulateGradient job;
    job.gradient = memory_.residual() + range.begin;
    job.num_values = range.end - range.begin;
    job.logarithms = logarithms;
    job.least = threshold;
    return memory_.measure(job, nullptr, deadline);
  }

  std::vector<double> squares(std::span<const SelectionRange> ranges, Deadline deadline) override {
    memory_.begin_call();
    std::uint64_t largest = 0;
    for (const SelectionRange& range : ranges) {
      check_range(*this, range);
      largest = std::max(largest, range.end - range.begin);
    }
    const std::size_t bytes = ranges.size() * sizeof(gpu_kernels::GradientMeasurement);
    auto* measured = reinterpret_cast<gpu_kernels::GradientMeasurement*>(memory_.staged(bytes));
    AccumulateGradient job;
    job.workspace = memory_.workspace(gpu_kernels::accumulate_workspace_bytes(largest));
    if (!ranges.empty()) {
      memory_.run(deadline, "measuring ranges", [&] {
        for (std::size_t i = 0; i < ranges.size(); ++i) {
          job.gradient = memory_.residual() + ranges[i].begin;
          job.num_values = ranges[i].end - ranges[i].begin;
          job.measurement = measured + i;
          check(gpu_kernels::accumulate_gradient(job, memory_.stream()), "measuring ranges");
        }
      });
    }
    const auto found =
        memory_.fetch_bytes(reinterpret_cast<const std::byte*>(measured), bytes, deadline);
    std::vector<double> sums;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      sums.push_back(
          reinterpret_cast<const gpu_kernels::GradientMeasurement*>(found.data())[i].squares);
    }
    return sums;
  }

  std::vector<std::uint64_t> counts_at_least(SelectionRange range,
                                             std::span<const float> thresholds,
                                             Deadline deadline) override {
    memory_.begin_call();
    check_range(*this, range);
    std::vector<std::uint64_t> counts;
    while (!thresholds.empty()) {
      gpu_kernels::CountLarge job;
      const auto some =
          thresholds.first(std::min<std::size_t>(gpu_kernels::kMostThresholds, thresholds.size()));
      thresholds = thresholds.subspan(some.size());
      std::ranges::copy(some, job.thresholds);
      job.num_thresholds = static_cast<int>(some.size());
      job.values = memory_.residual();
      job.begin = range.begin;
      job.end = range.end;
      job.counts = memory_.device_answers()->counts;
      memory_.run(deadline, "counting", [&] {
        check(gpu_kernels::count_large(job, memory_.stream()), "counting above thresholds");
        memory_.fetch_answers();
      });
      const auto& found = memory_.answers().counts;
      counts.insert(counts.end(), found, found + some.size());
    }
    return counts;
  }

  SelectedEntries at_least(SelectionRange range, float threshold, Deadline deadline) override {
    memory_.begin_call();
    check_range(*this, range);
    const std::uint64_t num_values = range.end - range.begin;
    memory_.make_room(std::min(num_values, kLeastEntries));
    gpu_kernels::SelectLarge job;
    job.values = memory_.residual();
    job.begin = range.begin;
    job.end = range.end;
    job.threshold = threshold;
    job.num_entries = &memory_.device_answers()->num_entries;
    job.workspace =
        memory_.workspace(gpu_kernels::select_large_workspace_bytes(range.begin, range.end));
    const auto use_room = [&] {
      job.max_entries = static_cast<std::uint32_t>(std::min(num_values, memory_.room()));
      job.indices = memory_.indices();
      job.values_out = memory_.values();
    };
    use_room();
    memory_.run(deadline, "selecting", [&] {
      check(gpu_kernels::select_large(job, memory_.stream()), "selecting by a threshold");
      memory_.fetch_answers();
    });
    const std::uint32_t count = memory_.answers().num_entries;
    if (count > job.max_entries) {
      memory_.make_room(count);
      use_room();
      memory_.run(deadline, "selecting", [&] {
        check(gpu_kernels::write_selected(job, memory_.stream()), "writing what is selected");
      });
    }
    return memory_.fetch_entries(count, deadline);
  }

  SelectedEntries top(SelectionRange range, std::uint64_t count, Deadline deadline) override {
    memory_.begin_call();
    check_range(*this, range);
    gpu_kernels::SelectTop job;
    job.count = static_cast<std::uint32_t>(std::min(count, range.end - range.begin));
    memory_.make_room(job.count);
    job.values = memory_.residual();
    job.begin = range.begin;
    job.end = range.end;
    job.indices = memory_.indices();
    job.values_out = memory_.values();
    job.num_entries = &memory_.device_answers()->num_entries;
    job.workspace =
        memory_.workspace(gpu_kernels::select_top_workspace_bytes(range.begin, range.end));
    memory_.run(deadline, "selecting", [&] {
      check(gpu_kernels::select_top(job, memory_.stream()), "selecting the largest");
      memory_.fetch_answers();
    });
    return memory_.fetch_entries(memory_.answers().num_entries, deadline);
  }

  std::span<const float> values_at(std::span<const std::uint32_t> indices,
                                   Deadline deadline) override {
    memory_.begin_call();
    check_places(*this, indices);
    memory_.make_room(indices.size());
    memory_.run_at(indices, deadline, [&](std::size_t begin, std::uint32_t count) {
      return gpu_kernels::gather_at(
          {memory_.residual(), shape_.num_values, memory_.indices() + begin, count,
           memory_.values() + begin, &memory_.device_answers()->faults},
          memory_.stream());
    });
    return memory_.fetch_values(indices.size(), deadline);
  }

  std::span<const std::byte> pack_chunks(std::uint32_t count, std::uint32_t last_count,
                                         Deadline deadline) override {
    memory_.begin_call();
    check_chunks(*this, count, last_count);
    const std::size_t bytes =
        gpu_kernels::chunks_message_bytes(shape_.num_values, count, last_count);
    std::byte* message = memory_.staged(bytes);
    memory_.run(deadline, "packing chunks", [&] {
      check(gpu_kernels::pack_chunks({memory_.residual(), shape_.num_values, count, last_count,
                                      reinterpret_cast<unsigned char*>(message)},
                                     memory_.stream()),
            "packing chunks");
    });
    return memory_.fetch_bytes(message, bytes, deadline);
  }

  void clear_at(std::span<const std::uint32_t> indices, Deadline deadline) override {
    memory_.begin_call();
    check_places(*this, indices);
    memory_.make_room(indices.size());
    memory_.run_at(indices, deadline, [&](std::size_t begin, std::uint32_t count) {
      return gpu_kernels::clear_at(
          {memory_.residual(), memory_.velocity(), shape_.num_values, memory_.indices() + begin,
           count, &memory_.device_answers()->faults},
          memory_.stream());
    });
  }

  void add_at(std::span<const std::uint32_t> indices, std::span<const float> values,
              Deadline deadline) override {
    memory_.begin_call();
    check_entries(*this, indices, values);
    gpu_kernels::AddAt job;
    job.to = memory_.residual();
    job.num_values = shape_.num_values;
    memory_.add_entries(job, indices, values, deadline);
  }

  void save(const ResidualView& to, Deadline deadline) override {
    memory_.begin_call();
    check_residual(*this, to);
    memory_.run(deadline, "saving the residual", [&] {
      memory_.copy(to.residual.data(), memory_.residual(), to.residual.size_bytes(),
                   cudaMemcpyDeviceToHost);
      memory_.copy(to.velocity.data(), memory_.velocity(), to.velocity.size_bytes(),
                   cudaMemcpyDeviceToHost);
    });
  }

  void load(const ResidualView& from, Deadline deadline) override {
    memory_.begin_call();
    check_residual(*this, from);
    memory_.run(deadline, "loading the residual", [&] {
      memory_.copy(memory_.residual(), from.residual.data(), from.residual.size_bytes(),
                   cudaMemcpyHostToDevice);
      memory_.copy(memory_.velocity(), from.velocity.data(), from.velocity.size_bytes(),
                   cudaMemcpyHostToDevice);
    });
  }

 private:
  const std::string name_;
  const SelectionShape shape_;
  SelectionMemory memory_;
};

}  // namespace

std::unique_ptr<device::SelectionUnit> make_selection_unit(int device_index,
                                                           const device::DeviceInfo& info,
                                                           const SelectionShape& shape) {
  device::check_selection_shape(info.id, shape);
  check(cudaSetDevice(device_index), "choosing the device");
  return std::make_unique<CudaSelectionUnit>(device_index, info, shape);
}

}  // namespace tandem::cuda
