// SPDX-License-Identifier: Apache-2.0
//
// The dot product loops on processors whose instructions for them Tandem does not use: none.
#include "cpu/kernels/speed/product_loop.h"

namespace tandem::device::cpu {

std::vector<ProductLoop> int8_dot_product_loops() { return {}; }
std::vector<ProductLoop> bf16_dot_product_loops() { return {}; }

}  // namespace tandem::device::cpu
