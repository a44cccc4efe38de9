// SPDX-License-Identifier: Apache-2.0
//
// The XRT backend of builds without XRT: it lists no cards and says how to enable them.
#include "common/error.h"
#include "xrt/backend.h"
#include "xrt/options.h"

namespace tandem::device {
namespace {

class AbsentXrtBackend final : public Backend {
 public:
  std::string_view kind() const override { return "xrt"; }
  bool available() const override { return false; }
  std::string unavailable_reason() const override {
    return "built without the Xilinx Runtime; install libxrt-dev and build again";
  }
  std::span<const BackendOption> options() const override { return xrt_card::kOptions; }
  std::vector<DeviceInfo> enumerate(const DeviceOptions&) const override { return {}; }
  std::unique_ptr<Device> open(int, const DeviceOptions&) const override {
    throw Error("xrt", unavailable_reason());
  }
};

}  // namespace

const Backend& xrt_backend() {
  static const AbsentXrtBackend backend;
  return backend;
}

}  // namespace tandem::device
