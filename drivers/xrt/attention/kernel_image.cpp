// SPDX-License-Identifier: Apache-2.0
//
// One descriptor serves every unit, so all units must reach its memory.
#include "xrt/attention/kernel_image.h"

#include "common/error.h"

namespace tandem::device::xrt_card {
namespace {

void check_shared_memory(const std::vector<ComputeUnitHandle>& units, const std::string& path) {
  const int first = units[0].kernel.group_id(kDescriptor);
  for (const ComputeUnitHandle& unit : units) {
    const int own = unit.kernel.group_id(kDescriptor);
    if (own == first) continue;
    throw Error("xrt", "the kernel image " + path + " connects the descriptor ports of " +
                           units[0].name + " and " + unit.name + " to different memories (" +
                           std::to_string(first) + ", " + std::to_string(own) +
                           "): link all of them to one (sp= in attention_decode.cfg)");
  }
}

}  // namespace

std::vector<ComputeUnitHandle> load_kernel_image(xrt::device& device, const std::string& path) {
  std::vector<ComputeUnitHandle> units;
  const KernelImage image = {path, "attention_decode", "name the attention xclbin (--xclbin)"};
  for (const KernelUnit& unit : load_kernel_units(device, image)) {
    units.push_back({unit.name, unit.kernel, unit.memory_of(kKeyPool), unit.memory_of(kValuePool)});
  }
  check_shared_memory(units, path);
  return units;
}

}  // namespace tandem::device::xrt_card
