// SPDX-License-Identifier: Apache-2.0
//
// Lists the GPUs that the CUDA runtime shows.
//
// The runtime is linked statically and loads the driver at the first call. So a program starts
// without a driver: the list is then empty, with a reason.
#include "cuda/backend.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "common/error.h"
#include "cuda/device.h"
#include "cuda/options.h"
#include "cuda/trials/kernel_choice.h"

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

class CudaBackend final : public Backend {
 public:
  std::string_view kind() const override { return "cuda"; }
  bool available() const override { return unavailable_reason().empty(); }
  std::string unavailable_reason() const override { return reason_without_driver(); }
  std::span<const BackendOption> options() const override { return cuda::kOptions; }

  std::vector<DeviceInfo> enumerate(const DeviceOptions&) const override {
    std::vector<DeviceInfo> infos;
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) return infos;
    for (int index = 0; index < count; ++index) {
      try {
        infos.push_back(cuda::describe(index));
      } catch (const DeviceError&) {
        return infos;  // the indices of later devices would shift
      }
    }
    return infos;
  }

  std::unique_ptr<Device> open(int index, const DeviceOptions& options) const override {
    const std::string reason = unavailable_reason();
    if (!reason.empty()) throw Error("cuda", reason);
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
    if (index < 0 || index >= count) {
      throw Error("cuda", "there is no device cuda:" + std::to_string(index) + "; " +
                              std::to_string(count) + " found");
    }
    cuda::GpuKernels kernels{cuda::kernel_policy(options.values.word(cuda::kKernelsOption)),
                             options.note, options.values.is_on(cuda::kFp8RowsOption)};
    std::shared_ptr<cuda::ActivityTrace> activity;
    if (options.activity) activity = cuda::shared_activity_trace(options.activity, options.warn);
    return std::make_unique<cuda::CudaDevice>(index, std::move(kernels), std::move(activity));
  }
};

}  // namespace

const Backend& cuda_backend() {
  static const CudaBackend backend;
  return backend;
}

}  // namespace tandem::device
