// SPDX-License-Identifier: Apache-2.0
//
// The CUDA backend of builds without CUDA: it lists no device and says why.
#include "common/error.h"
#include "cuda/backend.h"
#include "cuda/options.h"

namespace tandem::device {
namespace {

class AbsentCudaBackend final : public Backend {
 public:
  std::string_view kind() const override { return "cuda"; }
  bool available() const override { return false; }
  std::string unavailable_reason() const override {
    return "this build of Tandem has no CUDA backend; install the CUDA toolkit (nvcc), set "
           "TANDEM_CUDA_HOST_COMPILER if nvcc refuses the C++ compiler, and configure again";
  }
  std::span<const BackendOption> options() const override { return cuda::kOptions; }
  std::vector<DeviceInfo> enumerate(const DeviceOptions&) const override { return {}; }
  std::unique_ptr<Device> open(int, const DeviceOptions&) const override {
    throw Error("cuda", unavailable_reason());
  }
};

}  // namespace

const Backend& cuda_backend() {
  static const AbsentCudaBackend backend;
  return backend;
}

}  // namespace tandem::device
