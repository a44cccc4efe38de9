// SPDX-License-Identifier: Apache-2.0
//
// Divides an aggregation over the compute units of a card, packs descriptors, unpacks results, and
// estimates the time from the card's model.
//
// Positions are cut into tiles, at least one per unit if there are enough positions. A unit gets a
// run of consecutive tiles; runs have about equal work. A unit is used only when it saves more time
// than its transfers cost. A descriptor holds its unit's slices only, so every entry is sent once.
// The result has the form with fewer bytes, estimated for independent supports. Pure, except for
// the written bytes. Cost: a binary search per source and tile, then one pass over the entries.
// Errors: Error naming a source if the search meets a position out of range; the kernel finds the
// others, and positions out of order. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/raw_vector.h"
#include "device/aggregation_unit.h"
#include "sparse_aggregation/abi.h"
#include "xrt/card/card_timing.h"

namespace tandem::device::xrt_card {

// Entries [begin, end) of a source, all in one tile.
struct TileSlice {
  std::uint32_t tile = 0;
  std::uint32_t source = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct AggregationUnitPlan {
  sparse_aggregation::DescriptorHeader header{};
  std::span<const TileSlice> slices;  // by tile, then source
  std::size_t num_entries = 0;
  std::size_t descriptor_bytes = 0;
  std::size_t result_bytes = 0;           // upper bound of the result's size
  std::size_t expected_result_bytes = 0;  // estimate of the result's size, for independent supports
};

struct AggregationPlan {
  std::vector<TileSlice> slices;           // by tile, then source
  std::vector<AggregationUnitPlan> units;  // by position; empty without entries
};

AggregationPlan plan_aggregation(const AggregationShape& shape,
                                 std::span<const AggregationSource> sources, std::size_t num_units,
                                 const CardTiming& timing);

// The descriptor of an empty aggregation, which a kernel answers too.
AggregationUnitPlan plan_nothing(std::uint32_t tag);

// to: [unit.descriptor_bytes]
void write_descriptor(const AggregationUnitPlan& unit, std::span<const AggregationSource> sources,
                      std::span<std::byte> to);

// Appends the result of `unit`, header included.
void append_result(const AggregationUnitPlan& unit, const std::byte* result,
                   RawVector<std::uint32_t>& positions, RawVector<std::byte>& values);

}  // namespace tandem::device::xrt_card
