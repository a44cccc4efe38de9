// SPDX-License-Identifier: Apache-2.0
//
// CudaSparseUnit: a sparse matrix in a GPU's memory, multiplied by the row products of gpu_kernels.
//
// load() copies the rows, start() enqueues the transfer of x, the kernel and the transfer of y on a
// stream of its own, finish() waits. rates() measures products with the whole matrix. Order of the
// sums: lane l of a warp adds entries l, l + 32, ... of a row, rounding once an entry; lanes are
// added as a tree. Threads: one at a time. Errors: as SparseUnit. A lost unit leaks its memory,
// because work may still run.
#pragma once

#include <memory>

#include "device/device.h"
#include "device/sparse_unit.h"

namespace tandem::cuda {

// Makes `device_index` current on the calling thread. Cost of a product: 4 bytes a column and a row
// over the link, 8 bytes an entry of the GPU's memory, one launch.
std::unique_ptr<device::SparseUnit> make_sparse_unit(int device_index,
                                                     const device::DeviceInfo& info);

}  // namespace tandem::cuda
