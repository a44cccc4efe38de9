// SPDX-License-Identifier: Apache-2.0
//
// A unit's descriptor, positions and values are one buffer, so these three ports must reach one
// memory.
#include "xrt/aggregation/aggregation_image.h"

namespace tandem::device::xrt_card {

std::vector<KernelUnit> load_aggregation_image(xrt::device& device, const std::string& path) {
  return load_own_kernel(device, "sparse_aggregation", path,
                         {{kAggregationDescriptor, kAggregationPositions, kAggregationValues},
                          "input",
                          "descriptor, positions and values"});
}

}  // namespace tandem::device::xrt_card
