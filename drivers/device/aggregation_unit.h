// SPDX-License-Identifier: Apache-2.0
//
// AggregationUnit: a device that adds up sparse vectors of several sources (a card, a GPU).
//
// A source has sorted unique positions of one partition, and their values. One call takes the
// sources in rank order and returns the sorted union of positions. Values of equal positions are
// reduced in that order: the result has the bits of a loop over the sources in f32 or u64.
// Ownership: inputs are borrowed until the call returns; the result is valid until the next call.
// Threads: one at a time.
// Errors: Error, with the unit unchanged, for a shape that refusal() rejects, sources that do not
// match the shape, or a position that is not below num_positions. Positions that do not ascend are
// an Error if the unit detects it; else the result is undefined, but no other memory is touched.
// DeviceError, with the unit unchanged, if memory for the call cannot be allocated on the device or
// the host. DeviceError, with the unit lost (every later call fails at once), if started work
// failed or missed the deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/deadline.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

namespace tandem::device {

struct AggregationShape {
  std::uint64_t num_positions = 0;  // positions of the partition: 0 .. num_positions - 1
  DType type = DType::kF32;         // kF32 or kU64
  bool maximum = false;             // max instead of sum; NaN wins
  std::uint64_t num_sources = 0;
  std::uint64_t num_entries = 0;  // over all sources
};

struct AggregationSource {
  std::span<const std::uint32_t> positions;  // [num_entries] ascending, below num_positions
  std::span<const std::byte> values;         // [num_entries] of the shape's type
  Placement placement;  // the memory of both spans; accepts() must be true of it
};

struct AggregationResult {
  std::span<const std::uint32_t> positions;  // [num_union] ascending
  std::span<const std::byte> values;         // [num_union]
  double modelled_seconds = 0;               // duration by the device's own model; 0: it has none
};

struct AggregationCapacity {
  std::uint64_t max_positions = 0;
  std::uint64_t max_entries = 0;
  double memory_bandwidth_bytes_per_s = 0;
  double link_bandwidth_bytes_per_s = 0;
  double link_latency_us = 0;
};

class AggregationUnit {
 public:
  virtual ~AggregationUnit() = default;
  virtual std::string name() const = 0;  // "xrt:0"
  virtual AggregationCapacity capacity() const = 0;

  // Why the unit cannot aggregate this shape; empty: it can.
  virtual std::string refusal(const AggregationShape& shape) const = 0;

  // Whether sources may be in this memory. Host memory is always accepted.
  virtual bool accepts(const Placement& placement) const { return placement.on_host(); }

  // sources: [num_sources], in rank order. Throws Error if accepts() is false for a placement.
  virtual AggregationResult aggregate(const AggregationShape& shape,
                                      std::span<const AggregationSource> sources,
                                      Deadline deadline) = 0;
};

// Throws Error naming the first source whose memory `unit` does not accept.
inline void check_placements(const AggregationUnit& unit,
                             std::span<const AggregationSource> sources) {
  for (const AggregationSource& source : sources) {
    if (unit.accepts(source.placement)) continue;
    require_host(source.placement, "device",
                 ("for " + unit.name() + " positions and values").c_str());
  }
}

}  // namespace tandem::device
