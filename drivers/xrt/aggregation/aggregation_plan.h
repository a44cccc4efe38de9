// SPDX-License-Identifier: Apache-2.0
//
// Dividing an aggregation over the compute units of a card, packing their descriptors, unpacking
// their results, and what the card's model says it all takes.
//
// Positions are cut into tiles (at least one per unit where there are enough positions); units get
// runs of consecutive touched tiles of about equal work, as many units as pay for their transfers.
// Each unit's descriptor holds only its own slices of the sources, so every entry travels once. The
// result's form is the one with fewer bytes, judged by the union that independent supports would
// have. Pure but for the bytes they write. Cost: a binary search per source and touched tile, then
// one pass over the entries. Errors: Error naming a source with a position out of range, where the
// search comes across it; the kernel finds the others, and those out of order. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/raw_vector.h"
#include "device/aggregation_unit.h"
#include "sparse_aggregation/abi.h"

namespace tandem::device::xrt_card {

// What is assumed of a card beside the cycles its kernel counts; the two times are assumptions, no
// measurements: a transfer's and a command's fixed cost on a real card's driver.
struct CardTiming {
  double link_bandwidth_bytes_per_s = 0;  // 0: unknown; bytes cost nothing
  double transfer_s = 10e-6;
  double command_s = 20e-6;

  double transfer_seconds(double bytes) const {
    return transfer_s + (link_bandwidth_bytes_per_s > 0 ? bytes / link_bandwidth_bytes_per_s : 0);
  }
};

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
  std::size_t result_bytes = 0;           // at most
  std::size_t expected_result_bytes = 0;  // by independent supports
};

struct AggregationPlan {
  std::vector<TileSlice> slices;           // by tile, then source
  std::vector<AggregationUnitPlan> units;  // by position; none where there are no entries
};

AggregationPlan plan_aggregation(const AggregationShape& shape,
                                 std::span<const AggregationSource> sources, std::size_t num_units,
                                 const CardTiming& timing);

// The descriptor of an aggregation of nothing, which a kernel answers all the same.
AggregationUnitPlan plan_nothing(std::uint32_t tag);

// to: [unit.descriptor_bytes]
void write_descriptor(const AggregationUnitPlan& unit, std::span<const AggregationSource> sources,
                      std::span<std::byte> to);

// Appends the result of `unit`, header included.
void append_result(const AggregationUnitPlan& unit, const std::byte* result,
                   RawVector<std::uint32_t>& positions, RawVector<std::byte>& values);

}  // namespace tandem::device::xrt_card
