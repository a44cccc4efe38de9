// SPDX-License-Identifier: Apache-2.0
//
// The memory and the stream of a selection unit: residual, room for entries, answers of kernels.
//
// Memory is allocated only while nothing runs: if an allocation fails, no work is lost. After work
// that failed or missed its deadline, every later call fails, and the memory is leaked. Threads:
// one at a time.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "common/error.h"
#include "cuda/runtime/handles.h"
#include "device/selection_unit.h"
#include "sparse/entries_at.h"
#include "sparse/gradient_sum.h"
#include "sparse/select_large.h"

namespace tandem::cuda {

// Results of kernels for the host, in device memory and in pinned memory.
struct SelectionAnswers {
  gpu_kernels::GradientMeasurement measurement;
  std::uint32_t counts[gpu_kernels::kMostThresholds];
  std::uint32_t num_entries;
  std::uint32_t faults;
};

gpu_kernels::ValueType value_type(DType type);  // kF32, kF16 or kBF16
device::GradientMoments moments_of(const gpu_kernels::GradientMeasurement& from);

class SelectionMemory {
 public:
  // The residual begins as zeros. A shape without values has no residual.
  SelectionMemory(int device_index, std::string name, const device::SelectionShape& shape);
  ~SelectionMemory();
  SelectionMemory(const SelectionMemory&) = delete;
  SelectionMemory& operator=(const SelectionMemory&) = delete;

  // Every call begins with it. Throws DeviceError if the unit is lost.
  void begin_call();

  float* residual() const { return residual_.as<float>(); }
  float* velocity() const { return velocity_.as<float>(); }  // null if the shape has none
  std::uint32_t* indices() const { return indices_.as<std::uint32_t>(); }
  float* values() const { return values_.as<float>(); }
  SelectionAnswers* device_answers() const { return answers_.as<SelectionAnswers>(); }
  const SelectionAnswers& answers() const { return *host_answers_.as<SelectionAnswers>(); }
  cudaStream_t stream() const { return stream_.get(); }

  // Makes room for this many selected entries. Contents are lost if the memory grows.
  void make_room(std::uint64_t entries);
  std::uint64_t room() const { return indices_.size_bytes() / sizeof(std::uint32_t); }
  std::byte* workspace(std::size_t bytes) { return workspace_.reserve(bytes); }
  std::byte* staged(std::size_t bytes) { return staged_.reserve(bytes); }

  // Calls work(), which starts work on the stream, and waits until that work has ended.
  template <typename Work>
  void run(Deadline deadline, const char* what, Work&& work) {
    lost_ = true;  // reset once the work has succeeded
    work();
    done_.record(stream_);
    if (!done_.wait(deadline)) {
      throw DeviceError("cuda", name_ + " has not finished by the deadline: " + what);
    }
    lost_ = false;
  }

  // Enqueues a copy; only for work() of run().
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
  void fetch_answers();
  void wait_for(const Placement& placement);

  // Runs the job, which adds or measures a gradient. A `gradient` in host memory is copied first.
  // Null: the values that the job names are in this GPU's memory.
  device::GradientMoments measure(gpu_kernels::AccumulateGradient& job,
                                  const device::GradientView* gradient, Deadline deadline);
  // Copies the places to the device in pieces, and calls launch(begin, count) for each piece.
  template <typename Launch>
  void run_at(std::span<const std::uint32_t> indices, Deadline deadline, Launch&& launch) {
    constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
    if (indices.empty()) return;
    run(deadline, "using values at places", [&] {
      copy(this->indices(), indices.data(), indices.size_bytes(), cudaMemcpyHostToDevice);
      for (std::size_t begin = 0; begin < indices.size(); begin += kMostAtOnce) {
        const std::size_t count = std::min(kMostAtOnce, indices.size() - begin);
        check(launch(begin, static_cast<std::uint32_t>(count)), "using values at places");
      }
    });
  }
  // Adds the entries to the job's target. The caller sets the target; this function sets the
  // entries.
  void add_entries(gpu_kernels::AddAt job, std::span<const std::uint32_t> indices,
                   std::span<const float> values, Deadline deadline);

  // These functions copy the first `count` values, entries or bytes of a result to pinned memory
  // and return them.
  std::span<const float> fetch_values(std::size_t count, Deadline deadline);
  device::SelectedEntries fetch_entries(std::size_t count, Deadline deadline);
  std::span<const std::byte> fetch_bytes(const std::byte* from, std::size_t count,
                                         Deadline deadline);

 private:
  void leak();

  const int device_index_;
  const std::string name_;
  bool lost_ = false;
  Stream stream_;
  Event done_, ready_;
  DeviceBuffer residual_, velocity_, staged_, workspace_, indices_, values_, answers_;
  PinnedBuffer host_answers_, host_indices_, host_values_;
};

}  // namespace tandem::cuda
