// SPDX-License-Identifier: Apache-2.0
//
// Lists the CPU and GPU devices of every installed OpenCL driver, in the order of the OpenCL
// loader.
#include "opencl/backend.h"

#include "common/error.h"
#include "opencl/device.h"

namespace tandem::device {
namespace {

class OpenClBackend final : public Backend {
 public:
  std::string_view kind() const override { return "opencl"; }
  bool available() const override { return true; }
  std::string unavailable_reason() const override { return ""; }

  std::vector<DeviceInfo> enumerate(const DeviceOptions&) const override {
    std::vector<DeviceInfo> infos;
    for (const cl::Device& device : opencl::usable_devices()) {
      try {
        infos.push_back(opencl::describe(device, static_cast<int>(infos.size())));
      } catch (const cl::Error&) {
        // a driver that fails to name its device: the indices of later devices would shift
        return infos;
      }
    }
    return infos;
  }

  std::unique_ptr<Device> open(int index, const DeviceOptions&) const override {
    const auto devices = opencl::usable_devices();
    if (index < 0 || static_cast<std::size_t>(index) >= devices.size()) {
      throw Error("opencl", "there is no device opencl:" + std::to_string(index) + "; " +
                                std::to_string(devices.size()) +
                                " found (a driver such as pocl-opencl-icd brings one)");
    }
    return std::make_unique<opencl::OpenClDevice>(devices[index], index);
  }
};

}  // namespace

const Backend& opencl_backend() {
  static const OpenClBackend backend;
  return backend;
}

}  // namespace tandem::device
