// SPDX-License-Identifier: Apache-2.0
//
// A unit's descriptor, positions and values are one buffer, so these three ports must reach one
// memory.
#include "xrt/aggregation/aggregation_image.h"

#include "common/error.h"

namespace tandem::device::xrt_card {

std::vector<KernelUnit> load_aggregation_image(xrt::device& device, const std::string& path) {
  const KernelImage image = {path.empty() ? find_kernel_image("sparse_aggregation") : path,
                             "sparse_aggregation",
                             "sparse_aggregation.xclbin is neither beside the program nor "
                             "installed; build the target xclbin_sparse_aggregation"};
  std::vector<KernelUnit> units = load_kernel_units(device, image);
  for (const KernelUnit& unit : units) {
    const int memory = unit.kernel.group_id(kAggregationDescriptor);
    if (unit.kernel.group_id(kAggregationPositions) == memory &&
        unit.kernel.group_id(kAggregationValues) == memory) {
      continue;
    }
    throw Error("xrt", "the kernel image " + image.path + " connects the input ports of " +
                           unit.name +
                           " to different memories: link descriptor, positions and "
                           "values to one (sp= in sparse_aggregation.cfg)");
  }
  return units;
}

}  // namespace tandem::device::xrt_card
