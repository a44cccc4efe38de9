// SPDX-License-Identifier: Apache-2.0
//
// The op cases of attention units on composites of CPU devices: parts for three layers, or parts
// that divide the heads.
#include <algorithm>
#include <cctype>

#include "drivers/device/device_under_test.h"
#include "drivers/parallel/cpu_parts.h"
#include "parallel/device.h"

namespace tandem::device_test {
namespace {

using device::parallel::ParallelDevice;
using device::parallel::Split;

// Makes a composite that suits each unit's geometry.
class SuitingDevice final : public device::Device {
 public:
  explicit SuitingDevice(Split split) : split_(split) {
    info_ = device::parallel::cpu_devices(1).front()->info();
  }
  const device::DeviceInfo& info() const override { return info_; }
  std::unique_ptr<device::ComputeUnit> make_compute_unit() override {
    return composites_.back()->make_compute_unit();
  }
  std::unique_ptr<device::AttentionUnit> make_attention_unit(
      const device::AttentionUnitOptions& options) override {
    int parts = 1;
    if (split_ == Split::kLayers) {
      parts = std::clamp(options.geometry.num_layers, 1, 3);
    } else {
      for (const int count : {2, 3}) {
        if (options.geometry.kv_heads % count == 0) parts = count;
      }
    }
    composites_.push_back(std::make_unique<ParallelDevice>(
        device::parallel::cpu_devices(parts),
        device::parallel::ParallelOptions{split_, std::max(options.geometry.num_layers, 1), {}}));
    return composites_.back()->make_attention_unit(options);
  }

 private:
  const Split split_;
  device::DeviceInfo info_;
  std::vector<std::unique_ptr<ParallelDevice>> composites_;
};

}  // namespace

std::vector<std::string> device_ids() { return {"layers:0", "tensor:0"}; }

OpenedDevice open_attention_device(const std::string& id) {
  OpenedDevice opened;
  opened.device =
      std::make_unique<SuitingDevice>(id == "layers:0" ? Split::kLayers : Split::kTensor);
  return opened;
}

std::string case_name(const std::string& id) {
  std::string name = id;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

}  // namespace tandem::device_test
