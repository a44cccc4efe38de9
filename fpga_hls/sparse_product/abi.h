// SPDX-License-Identifier: Apache-2.0
//
// The interface of the sparse_product kernel and its driver: a matrix in a unit's memory, the
// vector, the result, and the model of its cycles.
//
// A matrix is a sequence of 64-byte words: MatrixHeader, Segment table, then lengths and groups of
// every segment. Rows are cut into blocks of kBlockRows and columns into tiles of kTileColumns.
// The vector is [columns] f32. A result is one ResultHeader word, then [rows] f32.
// Sums: the 8 products of a group are added as a tree; group g of a row is added to partial sum g
// mod 16; the 16 partial sums are added as a tree, and the tiles in their order to +0.
// Little-endian. C++14, no dependency: compiled by Vitis HLS and by the host.
#pragma once

#include <cstdint>

#include "../kernel_status/status.h"

namespace tandem {
namespace sparse_product {

constexpr std::uint32_t kAbiVersion = 2;
constexpr std::uint32_t kMagic = 0x4d565053u;  // "SPVM"

constexpr std::uint32_t kWordBytes = 64;  // one beat of a 512-bit bus
constexpr std::uint32_t kWordValues = 16;
constexpr std::uint32_t kLanes = 8;      // entries of a group
constexpr std::uint32_t kPartials = 16;  // partial sums of a row: more than the cycles of a sum
constexpr std::uint32_t kTileColumns = 1u << 16;
constexpr std::uint32_t kBlockRows = 1u << 17;
constexpr std::uint32_t kNoEntry = 0xffffffffu;
constexpr std::uint32_t kMaxRows = 1u << 31;
constexpr std::uint32_t kMaxColumns = 1u << 31;

using kernel_status::kBadMagic;
using kernel_status::kBadSection;
using kernel_status::kBadShape;
using kernel_status::kBadVersion;
using kernel_status::kOk;
using kernel_status::kRunning;
using kernel_status::Status;

// The statuses of this kernel alone. The detail is the segment, but for kBadBuffer.
constexpr Status kBadLengths = 6;  // the lengths of a segment do not add up to its numbers
constexpr Status kBadColumn = 7;   // a column is outside its tile
constexpr Status kBadBuffer = 8;   // detail 0: the vector is shorter than the columns; 1: result
static_assert(kBadLengths == kernel_status::kFirstOwnStatus, "own statuses follow the common ones");

// 16 u32 fields in this order; one word.
struct MatrixHeader {
  std::uint32_t magic;
  std::uint32_t abi_version;
  std::uint32_t num_words;  // length of the whole matrix
  std::uint32_t num_rows;
  std::uint32_t num_columns;
  std::uint32_t segments_word;
  std::uint32_t reserved[10];
};
static_assert(sizeof(MatrixHeader) == kWordBytes, "one word");

// 4 u32 fields in this order; four segments a word. Segment b * tiles + t has the entries of block
// b in tile t. Its lengths: a u32 per row, the number of its groups. A group is one word: 8 columns
// within the tile (kNoEntry: none), then 8 f32 values.
struct Segment {
  std::uint32_t lengths_word;
  std::uint32_t groups_word;
  std::uint32_t num_groups;
  std::uint32_t num_steps;  // groups, and one for each row without any
};
static_assert(sizeof(Segment) * 4 == kWordBytes, "four segments a word");

// 16 u32 fields in this order; one word.
struct ResultHeader {
  std::uint32_t magic;
  std::uint32_t abi_version;  // the version of the kernel
  std::uint32_t status;
  std::uint32_t detail;
  std::uint32_t num_words;  // length of the result, header included
  std::uint32_t tag;        // of the call: distinguishes a result from an earlier one
  std::uint32_t reserved[10];
};
static_assert(sizeof(ResultHeader) == kWordBytes, "one word");

constexpr std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return a / b + (a % b != 0); }
constexpr std::uint32_t value_words(std::uint32_t count) { return divide_up(count, kWordValues); }
constexpr std::uint32_t num_blocks(std::uint32_t rows) { return divide_up(rows, kBlockRows); }
constexpr std::uint32_t num_tiles(std::uint32_t columns) {
  return divide_up(columns, kTileColumns);
}
constexpr std::uint32_t result_words(std::uint32_t rows) { return 1 + value_words(rows); }

// Rows of block b, columns of tile t.
constexpr std::uint32_t block_rows(std::uint32_t rows, std::uint32_t b) {
  return rows - b * kBlockRows < kBlockRows ? rows - b * kBlockRows : kBlockRows;
}
constexpr std::uint32_t tile_columns(std::uint32_t columns, std::uint32_t t) {
  return columns - t * kTileColumns < kTileColumns ? columns - t * kTileColumns : kTileColumns;
}

// The cycle model. A port gets 13.2 GB/s of a pseudo-channel: 44 bytes of its 64 a cycle at 300
// MHz.
constexpr std::uint32_t kClockMhz = 300;
constexpr std::uint32_t kPortBytesPerCycle = 44;
constexpr std::uint32_t kStartCycles = 400;    // latency of memory, header, tables, result header
constexpr std::uint32_t kSegmentCycles = 200;  // latency of memory and of the stages, filled once

// Cycles in which `words` words pass a port.
constexpr std::uint64_t port_cycles(std::uint64_t words) {
  return (words * kWordBytes + kPortBytesPerCycle - 1) / kPortBytesPerCycle;
}

// Of one segment. `sharers`: units that read the vector from this unit's channel.
constexpr std::uint64_t segment_cycles(const Segment& segment, std::uint32_t columns,
                                       std::uint32_t sharers) {
  return kSegmentCycles + port_cycles(value_words(columns)) * sharers +
         (port_cycles(segment.num_groups) > segment.num_steps ? port_cycles(segment.num_groups)
                                                              : segment.num_steps);
}

// Of one unit, without its segments: the check of the lengths, clearing and writing the sums.
constexpr std::uint64_t row_cycles(std::uint32_t rows, std::uint32_t tiles) {
  return kStartCycles + port_cycles(static_cast<std::uint64_t>(value_words(rows)) * tiles) +
         value_words(rows) + port_cycles(value_words(rows));
}

}  // namespace sparse_product
}  // namespace tandem
