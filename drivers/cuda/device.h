// SPDX-License-Identifier: Apache-2.0
//
// CudaDevice: one GPU as a device of the registry.
//
// Its compute and attention units share one queue and one health (gpu/gpu.h); the aggregation
// unit, selection units and sparse units have their own streams. Errors: making a unit throws Error
// for arguments and memory, DeviceError once the GPU is lost. Threads: as device/device.h says.
#pragma once

#include <memory>

#include "cuda/gpu/gpu.h"
#include "cuda/trace/activity_trace.h"
#include "device/device.h"
#include "device/sparse_unit.h"

namespace tandem::cuda {

// The driver's description of a GPU; does not use the GPU's memory. Throws DeviceError.
device::DeviceInfo describe(int index);

class CudaDevice final : public device::Device, public device::SparseDevice {
 public:
  // activity: the trace of the process, kept as long as the device; null: no trace.
  explicit CudaDevice(int index, GpuKernels kernels = {},
                      std::shared_ptr<ActivityTrace> activity = nullptr);

  const device::DeviceInfo& info() const override { return info_; }
  std::unique_ptr<device::ComputeUnit> make_compute_unit() override;
  std::unique_ptr<device::AttentionUnit> make_attention_unit(
      const device::AttentionUnitOptions& options) override;
  std::unique_ptr<device::AggregationUnit> make_aggregation_unit() override;
  std::unique_ptr<device::SelectionUnit> make_selection_unit(
      const device::SelectionShape& shape) override;
  std::unique_ptr<device::GradientMemory> make_gradient_memory() override;
  std::unique_ptr<device::SparseUnit> make_sparse_unit() override;
  device::DeviceSpeed speed_now() override;
  // Both return null if one of the units is not on a GPU, or if two units are on the same GPU.
  // make_reducer() also returns null without NCCL.
  std::unique_ptr<device::PeerCopy> make_peer_copy(
      std::span<device::ComputeUnit* const> units) override;
  std::unique_ptr<device::Reducer> make_reducer(
      std::span<device::ComputeUnit* const> units) override;

 private:
  device::DeviceInfo info_;
  const std::shared_ptr<ActivityTrace> activity_;  // created before the context, destroyed after it
  Gpu gpu_;
};

}  // namespace tandem::cuda
