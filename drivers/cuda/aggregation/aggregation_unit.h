// SPDX-License-Identifier: Apache-2.0
//
// Aggregation on a GPU: scatter-add source by source, then compaction.
//
// Entries pass in pieces of 1 Mi through two pinned buffers, so that filling one overlaps with the
// copy and the kernel of the other; pieces of all sources run in rank order on one stream. Sums
// stand dense in device memory and are never cleared: a bit per position says which are of this
// call. Sources that lie on this GPU are read in place, after the work of their queue. The union
// comes back as positions and values in pinned memory.
// Memory: 2 * value + 4 bytes and a bit per position, taken at the first call that needs it; result
// copies of 4 + value bytes per entry in pinned memory.
// Cost: PCIe moves 4 + value bytes per entry in, and per entry of the union out; launches: one per
// piece, three for the compaction. Two waits: for the number of entries, and for the entries.
// Numeric: the bits of a loop over the sources, but a NaN that an addition makes is the canonical
// one. Threads: one at a time. Errors: as the contract says; a position twice in a source is not
// seen. A unit that a failure or a deadline loses leaks its memory: work may still be running.
#pragma once

#include <memory>

#include "cuda/runtime/handles.h"
#include "device/aggregation_unit.h"
#include "device/device.h"

namespace tandem::cuda {

// Makes `device_index` current on the calling thread.
std::unique_ptr<device::AggregationUnit> make_aggregation_unit(int device_index,
                                                               const device::DeviceInfo& info);

}  // namespace tandem::cuda
