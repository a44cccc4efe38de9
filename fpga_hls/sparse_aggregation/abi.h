// SPDX-License-Identifier: Apache-2.0
//
// The interface of the sparse_aggregation kernel and its driver: the descriptor of one aggregation,
// its result, and the model of its cycles.
//
// A descriptor is a sequence of 64-byte words: DescriptorHeader, SourceEntry table, tile table
// (u32, ascending), ends table, then positions and values of every source. The kernel visits only
// the tiles of 2^tile_bits positions in the table. ends[t][s] is the number of entries of source s
// in tiles 0 .. t of the table; each row t is padded to whole words. A result is one ResultHeader
// word, then the entries. kCoo: records of 16 entries, each one word of positions and one word of
// f32 or two words of u64 values. kBitmap: 2^tile_bits bits per tile of the table, then the values
// without gaps. Little-endian. C++14, no dependency: compiled by Vitis HLS and by the host.
#pragma once

#include <cstdint>

#include "../kernel_status/status.h"

namespace tandem {
namespace sparse_aggregation {

constexpr std::uint32_t kAbiVersion = 1;
constexpr std::uint32_t kMagic = 0x47534154u;  // "TASG"

constexpr std::uint32_t kWordBytes = 64;      // one beat of a 512-bit bus
constexpr std::uint32_t kWordPositions = 16;  // u32 values in a word
// positions of a block: as many as a word of a bitmap has bits
constexpr std::uint32_t kBlockPositions = 512;
// positions whose presence is looked at together when a tile is written out
constexpr std::uint32_t kStripePositions = 256;
constexpr std::uint32_t kMinTileBits = 9;   // a tile is at least a block
constexpr std::uint32_t kMaxTileBits = 18;  // accumulators a unit holds on chip
constexpr std::uint32_t kMaxSources = 1024;
// upper limit of the entries of one unit, over all sources
constexpr std::uint32_t kMaxEntries = 1u << 28;

enum ValueType : std::uint32_t { kF32 = 0, kU64 = 1 };
enum Reduction : std::uint32_t { kSum = 0, kMax = 1 };
enum Format : std::uint32_t { kCoo = 0, kBitmap = 1 };

using kernel_status::kBadMagic;
using kernel_status::kBadSection;
using kernel_status::kBadShape;
using kernel_status::kBadVersion;
using kernel_status::kOk;
using kernel_status::kRunning;
using kernel_status::Status;

// The statuses of this kernel alone. For kBadSection the detail is 0 (a table) or 1 + the source.
constexpr Status kBadTile = 6;      // detail: the place in the tile table
constexpr Status kBadEnds = 7;      // detail: the source whose entries the tiles do not cover
constexpr Status kBadPosition = 8;  // detail: a source with a position out of its tile or of order
constexpr Status kBadResult = 9;    // the result might not fit its buffer
static_assert(kBadTile == kernel_status::kFirstOwnStatus, "own statuses follow the common ones");

// 16 u32 fields in this order; one word.
struct DescriptorHeader {
  std::uint32_t magic;
  std::uint32_t abi_version;
  std::uint32_t num_words;  // length of the whole descriptor
  std::uint32_t value_type;
  std::uint32_t reduction;
  std::uint32_t format;
  std::uint32_t tile_bits;
  std::uint32_t num_sources;
  std::uint32_t num_tiles;
  std::uint32_t last_position;  // the partition's positions are 0 .. last_position
  std::uint32_t sources_word;
  std::uint32_t tiles_word;
  std::uint32_t ends_word;
  std::uint32_t tag;  // comes back in the result
  std::uint32_t reserved[2];
};
static_assert(sizeof(DescriptorHeader) == kWordBytes, "one word");

// 4 u32 fields in this order; four entries a word.
struct SourceEntry {
  std::uint32_t positions_word;
  std::uint32_t values_word;
  std::uint32_t num_entries;
  std::uint32_t reserved;
};
static_assert(sizeof(SourceEntry) * 4 == kWordBytes, "four entries a word");

// 16 u32 fields in this order; one word. The counters are those of the cycle model below.
struct ResultHeader {
  std::uint32_t magic;
  std::uint32_t abi_version;  // the version of the kernel
  std::uint32_t status;
  std::uint32_t detail;
  std::uint32_t num_words;  // length of the result, header included
  std::uint32_t num_entries;
  std::uint32_t tag;       // copied from the descriptor: distinguishes a result from an earlier one
  std::uint32_t num_runs;  // dataflow regions that accumulated
  std::uint32_t accumulate_cycles;  // cycles of the slowest stage, summed over these regions
  std::uint32_t num_emit_runs;      // dataflow regions that emitted
  std::uint32_t emit_cycles;        // cycles of the slowest stage, summed over these regions
  std::uint32_t reserved[5];
};
static_assert(sizeof(ResultHeader) == kWordBytes, "one word");

constexpr std::uint32_t value_bytes(std::uint32_t value_type) { return value_type == kU64 ? 8 : 4; }

// Words of `count` values.
constexpr std::uint32_t value_words(std::uint32_t value_type, std::uint32_t count) {
  return (count + kWordBytes / value_bytes(value_type) - 1) /
         (kWordBytes / value_bytes(value_type));
}

constexpr std::uint32_t position_words(std::uint32_t count) {
  return (count + kWordPositions - 1) / kWordPositions;
}

// Words of a row of the ends table.
constexpr std::uint32_t ends_row_words(std::uint32_t num_sources) {
  return position_words(num_sources);
}

// Words of a COO record of 16 entries.
constexpr std::uint32_t record_words(std::uint32_t value_type) {
  return 1 + value_words(value_type, kWordPositions);
}

// Words of a result of `entries` entries, header included.
constexpr std::uint64_t result_words(std::uint32_t format, std::uint32_t value_type,
                                     std::uint32_t tile_bits, std::uint32_t num_tiles,
                                     std::uint32_t entries) {
  return format == kBitmap
             ? 1 + (static_cast<std::uint64_t>(num_tiles) << (tile_bits - kMinTileBits)) +
                   value_words(value_type, entries)
             : 1 + static_cast<std::uint64_t>(position_words(entries)) * record_words(value_type);
}

// The cycle model. A port gets 13.2 GB/s of a pseudo-channel: 44 bytes of its 64 a cycle at 300
// MHz.
constexpr std::uint32_t kClockMhz = 300;
constexpr std::uint32_t kPortBytesPerCycle = 44;
constexpr std::uint32_t kDrainCycles = 16;  // read, add, write; then the next source may follow
constexpr std::uint32_t kRunCycles = 120;  // HBM latency and the stages' fill, per accumulating run
constexpr std::uint32_t kEmitRunCycles = 40;  // the stages' fill, per emitting run
constexpr std::uint32_t kStartCycles = 800;   // clearing the presence bits, header, result header

// Cycles in which `words` words pass a port.
constexpr std::uint32_t port_cycles(std::uint32_t words) {
  return (words * kWordBytes + kPortBytesPerCycle - 1) / kPortBytesPerCycle;
}

// The cycles of one unit. Reading the tables takes a cycle per source, a cycle per source and tile,
// and a latency per tile.
inline std::uint64_t modelled_cycles(std::uint32_t num_sources, std::uint32_t num_tiles,
                                     const ResultHeader& result) {
  return kStartCycles + num_sources +
         static_cast<std::uint64_t>(num_tiles) * (num_sources + kRunCycles) +
         static_cast<std::uint64_t>(result.num_runs) * kRunCycles + result.accumulate_cycles +
         static_cast<std::uint64_t>(result.num_emit_runs) * kEmitRunCycles + result.emit_cycles;
}

}  // namespace sparse_aggregation
}  // namespace tandem
