// SPDX-License-Identifier: Apache-2.0
//
// The GPUs that the CUDA runtime shows. The runtime is linked statically and loads the driver at
// the first call, so a machine without one has an empty list and a reason, not a program that
// cannot start. Aggregation units so far; no compute or attention units.
#include "cuda/backend.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>

#include "common/error.h"
#include "cuda/aggregation_unit.h"
#include "cuda/runtime.h"

namespace tandem::device {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Empty when the runtime can work; a driver without a GPU is no reason.
std::string reason_without_driver() {
  int driver = 0, runtime = 0, count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess || error == cudaErrorNoDevice) return "";
  if (driver == 0) return "no NVIDIA driver is installed; install the one of your GPU";
  if (error == cudaErrorInsufficientDriver) {
    return "the NVIDIA driver supports CUDA " + version_text(driver) + ", but this build needs " +
           version_text(runtime) + "; update the driver";
  }
  return std::string("the NVIDIA driver does not answer: ") + cudaGetErrorString(error);
}

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, index) == cudaSuccess ? value : 0;
}

DeviceInfo describe(int index) {
  cudaDeviceProp properties;
  cuda::check(cudaGetDeviceProperties(&properties, index), "describing a GPU");
  DeviceInfo info;
  info.id = "cuda:" + std::to_string(index);
  info.kind = "cuda";
  info.name = properties.name;
  info.memory_bytes = properties.totalGlobalMem;
  // kHz and bits, two transfers per clock
  info.memory_bandwidth_bytes_per_s = 2e3 * attribute(cudaDevAttrMemoryClockRate, index) *
                                      attribute(cudaDevAttrGlobalMemoryBusWidth, index) / 8;
  info.makes_aggregation = true;
  return info;
}

// Bandwidth of pinned copies to the device, and the time of an empty round trip: medians of 5.
void measure_link(DeviceInfo& info) {
  constexpr std::size_t kBytes = 16 << 20;
  cuda::Stream stream;
  cuda::Event event;
  cuda::PinnedBuffer host;
  cuda::DeviceBuffer device;
  host.reserve(kBytes);
  device.reserve(kBytes);
  const auto seconds = [&](std::size_t bytes) {
    double samples[5];
    for (double& sample : samples) {
      const auto start = std::chrono::steady_clock::now();
      cuda::check(
          cudaMemcpyAsync(device.data(), host.data(), bytes, cudaMemcpyHostToDevice, stream.get()),
          "measuring the link");
      event.record(stream);
      if (!event.wait(Deadline::after(std::chrono::seconds(5)))) return 0.0;
      sample = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    std::sort(std::begin(samples), std::end(samples));
    return samples[2];
  };
  const double small = seconds(64), large = seconds(kBytes);
  info.link_latency_us = small * 1e6;
  if (large > small) info.link_bandwidth_bytes_per_s = kBytes / (large - small);
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : index_(index), info_(describe(index)) {
    cuda::check(cudaSetDevice(index), "choosing the device");
    measure_link(info_);
  }

  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<ComputeUnit> make_compute_unit() override {
    throw Error("cuda", info_.id + " makes no compute unit; use --compute cpu");
  }
  std::unique_ptr<AttentionUnit> make_attention_unit(const AttentionUnitOptions&) override {
    throw Error("cuda", info_.id + " makes no attention unit; use --attention cpu");
  }
  std::unique_ptr<AggregationUnit> make_aggregation_unit() override {
    return cuda::make_aggregation_unit(index_, info_);
  }

 private:
  int index_;
  DeviceInfo info_;
};

class CudaBackend final : public Backend {
 public:
  std::string_view kind() const override { return "cuda"; }
  bool available() const override { return unavailable_reason().empty(); }
  std::string unavailable_reason() const override { return reason_without_driver(); }

  std::vector<DeviceInfo> enumerate(const DeviceOptions&) const override {
    std::vector<DeviceInfo> infos;
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) return infos;
    for (int index = 0; index < count; ++index) {
      try {
        infos.push_back(describe(index));
      } catch (const DeviceError&) {
        return infos;  // the indices behind it would shift
      }
    }
    return infos;
  }

  std::unique_ptr<Device> open(int index, const DeviceOptions&) const override {
    const std::string reason = unavailable_reason();
    if (!reason.empty()) throw Error("cuda", reason);
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
    if (index < 0 || index >= count) {
      throw Error("cuda", "there is no device cuda:" + std::to_string(index) + "; " +
                              std::to_string(count) + " found");
    }
    return std::make_unique<CudaDevice>(index);
  }
};

}  // namespace

const Backend& cuda_backend() {
  static const CudaBackend backend;
  return backend;
}

}  // namespace tandem::device
