// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL backend of builds without OpenCL: it lists no device and says how to enable it.
#include "common/error.h"
#include "opencl/backend.h"

namespace tandem::device {
namespace {

class AbsentOpenClBackend final : public Backend {
 public:
  std::string_view kind() const override { return "opencl"; }
  bool available() const override { return false; }
  std::string unavailable_reason() const override {
    return "this build has no OpenCL: install ocl-icd-opencl-dev (and a driver such as "
           "pocl-opencl-icd), then configure again";
  }
  std::vector<DeviceInfo> enumerate(const DeviceOptions&) const override { return {}; }
  std::unique_ptr<Device> open(int, const DeviceOptions&) const override {
    throw Error("opencl", unavailable_reason());
  }
};

}  // namespace

const Backend& opencl_backend() {
  static const AbsentOpenClBackend backend;
  return backend;
}

}  // namespace tandem::device
