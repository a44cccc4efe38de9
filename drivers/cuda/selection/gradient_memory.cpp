// SPDX-License-Identifier: Apache-2.0
//
// Each call waits for the queue of its view, works on a stream of its own, and waits for the end.
#include "cuda/selection/gradient_memory.h"

#include <algorithm>

#include "cuda/selection/selection_memory.h"

namespace tandem::cuda {
namespace {

using device::GradientMoments;
using device::GradientTarget;
using device::GradientView;

class CudaGradientMemory final : public device::GradientMemory {
 public:
  CudaGradientMemory(int device_index, const device::DeviceInfo& info)
      : name_(info.id), memory_(device_index, info.id, {}) {}

  std::string name() const override { return name_; }

  bool accepts(const Placement& placement) const override {
    return placement.on_host() ||
           (placement.memory == tandem::Memory::kDevice && placement.device == name_);
  }

  GradientMoments measure(const GradientView& gradient, Deadline deadline) override {
    memory_.begin_call();
    check_gradient(*this, gradient);
    gpu_kernels::AccumulateGradient job;
    job.gradient = gradient.values.data();
    job.type = value_type(gradient.type);
    job.num_values = gradient.values.size() / dtype_block_bytes(gradient.type);
    return memory_.measure(job, &gradient, deadline);
  }

  void put(const GradientTarget& to, std::span<const std::uint32_t> indices,
           std::span<const float> values, Deadline deadline) override {
    memory_.begin_call();
    check_target(*this, to, indices, values);
    const std::size_t bytes = to.values.size();
    std::byte* place = to.placement.on_host() ? memory_.staged(bytes) : to.values.data();
    gpu_kernels::AddAt job;
    job.to = place;
    job.type = value_type(to.type);
    job.num_values = bytes / dtype_block_bytes(to.type);
    job.replaces = true;
    memory_.make_room(indices.size());
    memory_.run(deadline, "clearing the target", [&] {
      memory_.wait_for(to.placement);
      if (bytes > 0) check(cudaMemsetAsync(place, 0, bytes, memory_.stream()), "clearing a mean");
    });
    memory_.add_entries(job, indices, values, deadline);
    if (!to.placement.on_host()) return;
    copy(to.values.data(), place, bytes, {}, cudaMemcpyDeviceToHost, deadline);
  }

  void read(std::span<const std::byte> from, const Placement& placement, std::span<std::byte> to,
            Deadline deadline) override {
    memory_.begin_call();
    check_copy(*this, placement, from.size(), to.size());
    copy(to.data(), from.data(), from.size(), placement, cudaMemcpyDefault, deadline);
  }

  void write(std::span<const std::byte> from, std::span<std::byte> to, const Placement& placement,
             Deadline deadline) override {
    memory_.begin_call();
    check_copy(*this, placement, from.size(), to.size());
    copy(to.data(), from.data(), from.size(), placement, cudaMemcpyDefault, deadline);
  }

 private:
  void copy(void* to, const void* from, std::size_t bytes, const Placement& placement,
            cudaMemcpyKind kind, Deadline deadline) {
    if (bytes == 0) return;
    memory_.run(deadline, "copying a gradient", [&] {
      memory_.wait_for(placement);
      memory_.copy(to, from, bytes, kind);
    });
  }

  const std::string name_;
  SelectionMemory memory_;
};

}  // namespace

std::unique_ptr<device::GradientMemory> make_gradient_memory(int device_index,
                                                             const device::DeviceInfo& info) {
  check(cudaSetDevice(device_index), "choosing the device");
  return std::make_unique<CudaGradientMemory>(device_index, info);
}

}  // namespace tandem::cuda
