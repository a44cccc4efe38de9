// SPDX-License-Identifier: Apache-2.0
//
// The compute units of the kernel of sparse products, after its kernel image (xclbin) is loaded
// onto a card.
//
// Errors: Error naming the file when it is missing or damaged, has no sparse_product kernel,
// connects the two matrix ports to different memories, or is refused by the card. Threads: one.
#pragma once

#include "xrt/card/kernel_units.h"

namespace tandem::device::xrt_card {

// Arguments of the kernel, in order.
enum ProductArgument {
  kProductMatrix,
  kProductEntries,
  kProductVector,
  kProductResult,
  kProductMatrixWords,
  kProductVectorWords,
  kProductResultWords,
  kProductTag,
};

// The image that is installed with Tandem.
std::vector<KernelUnit> load_product_image(xrt::device& device);

}  // namespace tandem::device::xrt_card
