// SPDX-License-Identifier: Apache-2.0
//
// product_rows_on_host: the products that the kernel sparse_product gives, by loops of the host.
//
// The order of the sums is that of the kernel's abi.h, so the bits are those of a card, except for
// the payload of a NaN. One thread. Threads: any.
#pragma once

#include <span>

#include "device/sparse_unit.h"

namespace tandem::device::xrt_card {

// x: [rows.columns]; y: [rows.rows()], is overwritten.
void product_rows_on_host(const SparseRows& rows, std::span<const float> x, std::span<float> y);

}  // namespace tandem::device::xrt_card
