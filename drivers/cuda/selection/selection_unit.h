// SPDX-License-Identifier: Apache-2.0
//
// Selection on a GPU: the residual in its memory, kernels of gpu_kernels/sparse, and entries that
// return through pinned memory.
//
// Gradients on this GPU are read in place, after the work of their queue; those of the host are
// copied first. Memory: 4 bytes per value (8 with a velocity), and from the first selection on a
// bit per value and 8 bytes per entry of the largest result. Cost: see the kernels' headers; over
// the link 8 bytes per entry. Threads: one at a time. A unit lost by a failure or a deadline leaks
// its memory, because work may still run.
#pragma once

#include <memory>

#include "device/device.h"
#include "device/selection_unit.h"

namespace tandem::cuda {

// Makes `device_index` current on the calling thread. The residual is zero. Throws Error for the
// shape, DeviceError if there is no memory.
std::unique_ptr<device::SelectionUnit> make_selection_unit(int device_index,
                                                           const device::DeviceInfo& info,
                                                           const device::SelectionShape& shape);

}  // namespace tandem::cuda
