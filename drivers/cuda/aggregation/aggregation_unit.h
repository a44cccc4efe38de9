// SPDX-License-Identifier: Apache-2.0
//
// Sparse aggregation on a GPU: scatter-add, source by source, then compaction.
//
// Entries go to the device in pieces of 1 Mi, through two alternating pinned buffers. Sums are
// dense in device memory and are never cleared: a bit per position marks those of the current call.
// Sources on this GPU are read in place, after the work of their queue. Numerics: bit-equal to a
// loop over the sources, except that a NaN made by an addition is the canonical one. Threads: one
// at a time. Errors: as the contract says; a position that occurs twice in a source is not
// detected. A unit lost by a failure or a deadline leaks its memory, because work may still run.
#pragma once

#include <memory>

#include "cuda/runtime/handles.h"
#include "device/aggregation_unit.h"
#include "device/device.h"

namespace tandem::cuda {

// Makes `device_index` current on the calling thread. Memory: 2 * value + 4 bytes and a bit per
// position, from the first call on; pinned memory of 4 + value bytes per entry. Cost: 4 + value
// bytes over PCIe per entry in and per entry of the union out; one launch per piece, three for the
// compaction; two waits.
std::unique_ptr<device::AggregationUnit> make_aggregation_unit(int device_index,
                                                               const device::DeviceInfo& info);

}  // namespace tandem::cuda
