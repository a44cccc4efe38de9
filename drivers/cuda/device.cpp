// SPDX-License-Identifier: Apache-2.0
//
// CudaDevice: its description and its units.
#include "cuda/device.h"

#include <string>
#include <utility>
#include <vector>

#include "common/error.h"
#include "cuda/aggregation/aggregation_unit.h"
#include "cuda/attention/attention_unit.h"
#include "cuda/compute/compute_unit.h"
#include "cuda/gpu/speed.h"
#include "cuda/group/nccl_reducer.h"
#include "cuda/group/peer_copy.h"
#include "cuda/selection/gradient_memory.h"
#include "cuda/selection/selection_unit.h"
#include "cuda/sparse/sparse_unit.h"
#include "cuda/trials/launch_overlap.h"

namespace tandem::cuda {

device::DeviceInfo describe(int index) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, index), "describing a GPU");
  const GpuTraits traits = gpu_traits(index);
  device::DeviceInfo info;
  info.id = "cuda:" + std::to_string(index);
  info.kind = "cuda";
  info.name = std::string(properties.name) + " (compute " + std::to_string(traits.capability / 10) +
              "." + std::to_string(traits.capability % 10) + ", " +
              std::to_string(traits.num_processors) + " SMs)";
  info.memory_bytes = properties.totalGlobalMem;
  info.memory_bandwidth_bytes_per_s = traits.memory_bandwidth_bytes_per_s;
  info.peak_ops_per_s = peak_ops(traits);
  info.link_bandwidth_bytes_per_s = nominal_link(traits).bandwidth_bytes_per_s;
  // The code that nvcc made is for 8.0 and later.
  const bool runs_kernels = traits.capability >= kLeastCapability;
  info.makes_compute = info.makes_attention = runs_kernels;
  info.attends_windows = info.attends_softcap = runs_kernels;
  info.makes_aggregation = info.makes_selection = runs_kernels;
  return info;
}

CudaDevice::CudaDevice(int index, GpuKernels kernels, std::shared_ptr<ActivityTrace> activity)
    : info_(describe(index)),
      activity_(std::move(activity)),
      gpu_(index, info_.id, std::move(kernels)) {
  const LinkSpeed link = measure_link(gpu_);
  gpu_.health.require();
  if (link.bandwidth_bytes_per_s > 0) {
    info_.link_bandwidth_bytes_per_s = link.bandwidth_bytes_per_s;
  }
  info_.link_latency_us = link.latency_us;
  gpu_.queue.overlap_launches(launches_overlap(gpu_));
}

namespace {

void require_kernels(const device::DeviceInfo& info, bool runs_them) {
  if (runs_them) return;
  throw Error("cuda", info.id + " (" + info.name +
                          ") is older than compute capability 8.0, which kernels are built for; "
                          "use --compute cpu --attention cpu");
}

}  // namespace

std::unique_ptr<device::ComputeUnit> CudaDevice::make_compute_unit() {
  require_kernels(info_, info_.makes_compute);
  gpu_.activate();
  return std::make_unique<CudaComputeUnit>(gpu_);
}

std::unique_ptr<device::AttentionUnit> CudaDevice::make_attention_unit(
    const device::AttentionUnitOptions& options) {
  require_kernels(info_, info_.makes_attention);
  gpu_.activate();
  return std::make_unique<CudaAttentionUnit>(gpu_, info_, options);
}

std::unique_ptr<device::AggregationUnit> CudaDevice::make_aggregation_unit() {
  require_kernels(info_, info_.makes_aggregation);
  return cuda::make_aggregation_unit(gpu_.index, info_);
}

std::unique_ptr<device::SelectionUnit> CudaDevice::make_selection_unit(
    const device::SelectionShape& shape) {
  require_kernels(info_, info_.makes_selection);
  return cuda::make_selection_unit(gpu_.index, info_, shape);
}

std::unique_ptr<device::GradientMemory> CudaDevice::make_gradient_memory() {
  require_kernels(info_, info_.makes_selection);
  return cuda::make_gradient_memory(gpu_.index, info_);
}

std::unique_ptr<device::SparseUnit> CudaDevice::make_sparse_unit() {
  require_kernels(info_, info_.makes_aggregation);
  return cuda::make_sparse_unit(gpu_.index, info_);
}

std::unique_ptr<device::PeerCopy> CudaDevice::make_peer_copy(
    std::span<device::ComputeUnit* const> units) {
  std::vector<Gpu*> gpus = gpus_of(units);
  if (gpus.empty()) return nullptr;
  return std::make_unique<CudaPeerCopy>(std::move(gpus));
}

std::unique_ptr<device::Reducer> CudaDevice::make_reducer(
    std::span<device::ComputeUnit* const> units) {
  std::vector<Gpu*> gpus = gpus_of(units);
  if (gpus.size() < 2 || nccl_calls() == nullptr) return nullptr;
  return std::make_unique<NcclReducer>(std::move(gpus), *nccl_calls());
}

device::DeviceSpeed CudaDevice::speed_now() {
  const double measured = measure_memory_bandwidth(gpu_);
  return {measured > 0 ? measured : info_.memory_bandwidth_bytes_per_s, info_.peak_ops_per_s};
}

}  // namespace tandem::cuda
