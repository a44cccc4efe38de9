// SPDX-License-Identifier: Apache-2.0
//
// The aggregation kernel's compute units on a card, once its kernel image (xclbin) is loaded.
//
// Errors: Error naming the file when it is missing, is no xclbin, has no sparse_aggregation kernel,
// is linked in a way the driver cannot use, or is refused by the card. Threads: one.
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

// path empty: the image that comes with Tandem.
std::vector<KernelUnit> load_aggregation_image(xrt::device& device, const std::string& path);

}  // namespace tandem::device::xrt_card
