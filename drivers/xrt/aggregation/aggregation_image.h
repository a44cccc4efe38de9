// SPDX-License-Identifier: Apache-2.0
//
// The compute units of the aggregation kernel, after its kernel image (xclbin) is loaded onto a
// card.
//
// Errors: Error naming the file when it is missing or damaged, has no sparse_aggregation kernel,
// connects the ports in a way the driver cannot use, or is refused by the card. Threads: one.
#pragma once

#include "xrt/card/kernel_units.h"

namespace tandem::device::xrt_card {

// Arguments of the kernel, in order.
enum AggregationArgument {
  kAggregationDescriptor,
  kAggregationPositions,
  kAggregationValues,
  kAggregationResult,
  kAggregationDescriptorWords,
  kAggregationResultWords,
};

// Loads the image and opens its compute units. An empty path means the image that is installed with
// Tandem.
std::vector<KernelUnit> load_aggregation_image(xrt::device& device, const std::string& path);

}  // namespace tandem::device::xrt_card
