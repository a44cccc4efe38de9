// SPDX-License-Identifier: Apache-2.0
//
// The kernel reads a unit's matrix through two ports.
#include "xrt/products/product_image.h"

namespace tandem::device::xrt_card {

std::vector<KernelUnit> load_product_image(xrt::device& device) {
  return load_own_kernel(device, "sparse_product", "",
                         {{kProductMatrix, kProductEntries}, "matrix", "matrix and entries"});
}

}  // namespace tandem::device::xrt_card
