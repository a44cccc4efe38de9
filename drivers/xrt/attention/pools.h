// SPDX-License-Identifier: Apache-2.0
//
// Computes how many pages fit into a card's memory, and allocates the pools of every compute unit.
//
// Pools are buffers on the card only: the host keeps no copy, and the kernel exports pages. Errors:
// Error if not even one page fits; those of XRT if the card refuses memory that its kernel image
// states.
#pragma once

#include <vector>

#include "device/device.h"
#include "xrt/attention/kernel_image.h"
#include "xrt/attention/kernel_layout.h"
#include "xrt/attention/launch.h"

namespace tandem::device::xrt_card {

// Pages of the unit (not of the kernel) that fit into 15/16 of the memory of every pool and into
// the bounds of the options.
std::uint32_t pages_that_fit(const KernelLayout& layout,
                             const std::vector<ComputeUnitHandle>& handles,
                             const std::vector<UnitShare>& shares,
                             const AttentionUnitOptions& options);

// Allocates the pools. Unit handles[i] gets share shares[i].
std::vector<PooledUnit> allocate_pools(const xrt::device& device, const KernelLayout& layout,
                                       const std::vector<ComputeUnitHandle>& handles,
                                       const std::vector<UnitShare>& shares,
                                       std::uint32_t num_pages);

}  // namespace tandem::device::xrt_card
