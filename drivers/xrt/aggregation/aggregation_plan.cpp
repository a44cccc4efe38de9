// SPDX-License-Identifier: Apache-2.0
//
// The estimate of a tile's cycles follows the kernel's cycle model (abi.h) and assumes balanced
// banks.
#include "xrt/aggregation/aggregation_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "common/error.h"

namespace tandem::device::xrt_card {
namespace {

constexpr double kCyclesPerSecond = sparse_aggregation::kClockMhz * 1e6;

std::uint32_t tile_bits_for(std::uint64_t num_positions, std::size_t num_units) {
  const std::uint64_t share = (num_positions + num_units - 1) / num_units;
  const auto bits = static_cast<std::uint32_t>(std::bit_width(share - (share > 0 ? 1 : 0)));
  return std::clamp(bits, sparse_aggregation::kMinTileBits, sparse_aggregation::kMaxTileBits);
}

[[noreturn]] void reject(std::size_t source) {
  throw Error("xrt", "positions of source " + std::to_string(source) +
                         " are not below the partition's end");
}

void cut(const AggregationShape& shape, const AggregationSource& source, std::uint32_t index,
         std::uint32_t tile_bits, std::vector<TileSlice>& slices) {
  const auto positions = source.positions;
  std::size_t begin = 0;
  while (begin < positions.size()) {
    const std::uint32_t tile = positions[begin] >> tile_bits;
    if (positions[begin] >= shape.num_positions) reject(index);
    const auto next = std::partition_point(
        positions.begin() + static_cast<std::ptrdiff_t>(begin) + 1, positions.end(),
        [&](std::uint32_t position) { return position >> tile_bits <= tile; });
    const auto end = static_cast<std::size_t>(next - positions.begin());
    slices.push_back({tile, index, begin, end});
    begin = end;
  }
  if (!positions.empty() && positions.back() >= shape.num_positions) reject(index);
}

// A tile with entries: its slices, its expected cycles and its expected result.
struct TileWork {
  std::size_t first_slice = 0, end_slice = 0;
  std::size_t num_entries = 0;
  double expected_union = 0;
  double cycles = 0;
};

class Estimate {
 public:
  Estimate(const AggregationShape& shape, std::uint32_t tile_bits)
      : shape_(shape), places_(std::ldexp(1.0, static_cast<int>(tile_bits))) {}

  TileWork of(std::span<const TileSlice> slices) const {
    TileWork work;
    double absent = 1;  // probability that no source has a place
    for (const TileSlice& slice : slices) {
      const auto count = static_cast<double>(slice.end - slice.begin);
      work.num_entries += slice.end - slice.begin;
      absent *= 1 - std::min(1.0, count / places_);
    }
    work.expected_union = places_ * (1 - absent);
    const auto entries = static_cast<double>(work.num_entries);
    const double entry_bytes = 4 + value_bytes();
    const double rows = places_ / 8 * (1 - std::pow(absent, 8));
    const double fences =
        static_cast<double>(slices.size()) * (sparse_aggregation::kDrainCycles + 8);
    const double in =
        std::max(entries * entry_bytes / sparse_aggregation::kPortBytesPerCycle, entries / 8);
    const double out = work.expected_union * entry_bytes / sparse_aggregation::kPortBytesPerCycle;
    const double stripes = places_ / sparse_aggregation::kStripePositions;
    const double scan = std::max(
        stripes, stripes * (1 - std::pow(absent, sparse_aggregation::kStripePositions)) + rows);
    work.cycles = in + fences + std::max(out, scan) +
                  static_cast<double>(shape_.num_sources + 2 * sparse_aggregation::kRunCycles);
    return work;
  }

  double value_bytes() const { return shape_.type == DType::kU64 ? 8 : 4; }

 private:
  const AggregationShape& shape_;
  double places_;
};

std::vector<TileWork> tiles_of(const Estimate& estimate, std::span<const TileSlice> slices) {
  std::vector<TileWork> tiles;
  for (std::size_t begin = 0; begin < slices.size();) {
    std::size_t end = begin;
    while (end < slices.size() && slices[end].tile == slices[begin].tile) ++end;
    tiles.push_back(estimate.of(slices.subspan(begin, end - begin)));
    tiles.back().first_slice = begin;
    tiles.back().end_slice = end;
    begin = end;
  }
  return tiles;
}

// Bounds of `count` runs of tiles with about equal cycles and at least one tile each. [count + 1]
std::vector<std::size_t> divide(const std::vector<TileWork>& tiles, std::size_t count,
                                double total_cycles) {
  std::vector<std::size_t> bounds = {0};
  double done = 0;
  for (std::size_t t = 0; t < tiles.size() && bounds.size() < count; ++t) {
    done += tiles[t].cycles;
    const std::size_t left = tiles.size() - t - 1, wanted = count - bounds.size();
    if (done >= total_cycles * static_cast<double>(bounds.size()) / static_cast<double>(count) ||
        left == wanted) {
      bounds.push_back(t + 1);
    }
  }
  bounds.push_back(tiles.size());
  return bounds;
}

// The number of units that takes the least time: transfers run one after the other, kernels at the
// same time.
std::size_t units_that_pay(double total_cycles, std::size_t at_most, const CardTiming& timing) {
  std::size_t best = 1;
  double best_seconds = 0;
  for (std::size_t count = 1; count <= at_most; ++count) {
    const auto units = static_cast<double>(count);
    const double seconds = 2 * timing.transfer_s * units + total_cycles / kCyclesPerSecond / units;
    if (count == 1 || seconds < best_seconds) {
      best = count;
      best_seconds = seconds;
    }
  }
  return best;
}

std::size_t padded_row(std::size_t num_sources) {
  return sparse_aggregation::ends_row_words(static_cast<std::uint32_t>(num_sources)) *
         std::size_t{sparse_aggregation::kWordPositions};
}

// Entries per source in the slices. [num_sources]
std::vector<std::uint32_t> counts_of(std::span<const TileSlice> slices, std::size_t num_sources) {
  std::vector<std::uint32_t> counts(num_sources, 0);
  for (const TileSlice& slice : slices) {
    counts[slice.source] += static_cast<std::uint32_t>(slice.end - slice.begin);
  }
  return counts;
}

void lay_out(AggregationUnitPlan& unit, double expected_union) {
  sparse_aggregation::DescriptorHeader& h = unit.header;
  std::uint32_t word = 1;
  h.sources_word = word;
  word += (h.num_sources + 3) / 4;
  h.tiles_word = word;
  word += sparse_aggregation::position_words(h.num_tiles);
  h.ends_word = word;
  word += h.num_tiles * sparse_aggregation::ends_row_words(h.num_sources);
  for (const std::uint32_t count : counts_of(unit.slices, h.num_sources)) {
    word += sparse_aggregation::position_words(count) +
            sparse_aggregation::value_words(h.value_type, count);
  }
  h.num_words = word;
  const auto entries = static_cast<std::uint32_t>(unit.num_entries);
  const auto expected =
      static_cast<std::uint32_t>(std::min<double>(entries, std::ceil(expected_union)));
  const auto bytes = [&](std::uint32_t format, std::uint32_t count) {
    return sparse_aggregation::kWordBytes *
           static_cast<std::size_t>(sparse_aggregation::result_words(
               format, h.value_type, h.tile_bits, h.num_tiles, count));
  };
  h.format =
      bytes(sparse_aggregation::kBitmap, expected) < bytes(sparse_aggregation::kCoo, expected)
          ? sparse_aggregation::kBitmap
          : sparse_aggregation::kCoo;
  unit.descriptor_bytes = std::size_t{word} * sparse_aggregation::kWordBytes;
  unit.result_bytes = bytes(h.format, entries);
  unit.expected_result_bytes = bytes(h.format, expected);
}

sparse_aggregation::DescriptorHeader base_header() {
  sparse_aggregation::DescriptorHeader h{};
  h.magic = sparse_aggregation::kMagic;
  h.abi_version = sparse_aggregation::kAbiVersion;
  h.tile_bits = sparse_aggregation::kMinTileBits;
  h.num_sources = 1;
  return h;
}

}  // namespace

AggregationPlan plan_aggregation(const AggregationShape& shape,
                                 std::span<const AggregationSource> sources, std::size_t num_units,
                                 const CardTiming& timing) {
  AggregationPlan plan;
  sparse_aggregation::DescriptorHeader header = base_header();
  header.value_type =
      shape.type == DType::kU64 ? sparse_aggregation::kU64 : sparse_aggregation::kF32;
  header.reduction = shape.maximum ? sparse_aggregation::kMax : sparse_aggregation::kSum;
  header.tile_bits = tile_bits_for(shape.num_positions, num_units);
  header.num_sources = static_cast<std::uint32_t>(sources.size());
  header.last_position = static_cast<std::uint32_t>(shape.num_positions - 1);
  for (std::size_t s = 0; s < sources.size(); ++s) {
    cut(shape, sources[s], static_cast<std::uint32_t>(s), header.tile_bits, plan.slices);
  }
  std::ranges::stable_sort(plan.slices, {}, &TileSlice::tile);
  const auto tiles = tiles_of(Estimate(shape, header.tile_bits), plan.slices);
  if (tiles.empty()) return plan;
  double cycles = 0;
  for (const TileWork& tile : tiles) cycles += tile.cycles;
  const std::size_t count = units_that_pay(cycles, std::min(num_units, tiles.size()), timing);
  const auto bounds = divide(tiles, count, cycles);
  for (std::size_t u = 0; u + 1 < bounds.size(); ++u) {
    AggregationUnitPlan unit;
    unit.header = header;
    unit.header.num_tiles = static_cast<std::uint32_t>(bounds[u + 1] - bounds[u]);
    double expected_union = 0;
    for (std::size_t t = bounds[u]; t < bounds[u + 1]; ++t) {
      unit.num_entries += tiles[t].num_entries;
      expected_union += tiles[t].expected_union;
    }
    const std::size_t first = tiles[bounds[u]].first_slice;
    unit.slices = std::span(plan.slices).subspan(first, tiles[bounds[u + 1] - 1].end_slice - first);
    lay_out(unit, expected_union);
    plan.units.push_back(unit);
  }
  return plan;
}

AggregationUnitPlan plan_nothing(std::uint32_t tag) {
  AggregationUnitPlan unit;
  unit.header = base_header();
  unit.header.tag = tag;
  lay_out(unit, 0);
  return unit;
}

namespace {

std::byte* word_at(std::span<std::byte> descriptor, std::uint32_t word) {
  return descriptor.data() + std::size_t{word} * sparse_aggregation::kWordBytes;
}

// Where the entries of a source are written.
struct SourceCursor {
  std::byte* positions;
  std::byte* values;
};

// Writes where the entries of each source lie: behind the ends of the tiles, one source after the
// other.
std::vector<SourceCursor> write_sources(const AggregationUnitPlan& unit, std::span<std::byte> to) {
  const sparse_aggregation::DescriptorHeader& h = unit.header;
  const std::vector<std::uint32_t> counts = counts_of(unit.slices, h.num_sources);
  auto* entries = reinterpret_cast<sparse_aggregation::SourceEntry*>(word_at(to, h.sources_word));
  std::vector<SourceCursor> cursors(h.num_sources);
  std::uint32_t word =
      h.ends_word + h.num_tiles * sparse_aggregation::ends_row_words(h.num_sources);
  for (std::uint32_t s = 0; s < h.num_sources; ++s) {
    entries[s].num_entries = counts[s];
    entries[s].positions_word = word;
    cursors[s].positions = word_at(to, word);
    word += sparse_aggregation::position_words(counts[s]);
    entries[s].values_word = word;
    cursors[s].values = word_at(to, word);
    word += sparse_aggregation::value_words(h.value_type, counts[s]);
  }
  return cursors;
}

}  // namespace

void write_descriptor(const AggregationUnitPlan& unit, std::span<const AggregationSource> sources,
                      std::span<std::byte> to) {
  const sparse_aggregation::DescriptorHeader& h = unit.header;
  std::memset(to.data(), 0, std::size_t{h.ends_word} * sparse_aggregation::kWordBytes);
  std::memcpy(to.data(), &h, sizeof(h));
  std::vector<SourceCursor> cursors = write_sources(unit, to);
  auto* tiles = reinterpret_cast<std::uint32_t*>(word_at(to, h.tiles_word));
  auto* ends = reinterpret_cast<std::uint32_t*>(word_at(to, h.ends_word));
  const std::size_t value_size = sparse_aggregation::value_bytes(h.value_type);
  std::vector<std::uint32_t> taken(padded_row(h.num_sources), 0);
  for (std::size_t i = 0; i < unit.slices.size(); ++i) {
    const TileSlice& slice = unit.slices[i];
    const std::size_t count = slice.end - slice.begin;
    const AggregationSource& source = sources[slice.source];
    SourceCursor& cursor = cursors[slice.source];
    std::memcpy(cursor.positions, source.positions.data() + slice.begin, count * 4);
    std::memcpy(cursor.values, source.values.data() + slice.begin * value_size, count * value_size);
    cursor.positions += count * 4;
    cursor.values += count * value_size;
    taken[slice.source] += static_cast<std::uint32_t>(count);
    if (i + 1 < unit.slices.size() && unit.slices[i + 1].tile == slice.tile) continue;
    *tiles++ = slice.tile;
    ends = std::copy(taken.begin(), taken.end(), ends);
  }
}

namespace {

void append_records(const sparse_aggregation::DescriptorHeader& h, const std::byte* records,
                    std::size_t count, std::uint32_t* positions, std::byte* values) {
  const std::size_t value_size = sparse_aggregation::value_bytes(h.value_type);
  for (std::size_t i = 0; i < count; i += sparse_aggregation::kWordPositions) {
    const std::size_t here = std::min<std::size_t>(sparse_aggregation::kWordPositions, count - i);
    std::memcpy(positions + i, records, here * 4);
    std::memcpy(values + i * value_size, records + sparse_aggregation::kWordBytes,
                here * value_size);
    records += std::size_t{sparse_aggregation::record_words(h.value_type)} *
               sparse_aggregation::kWordBytes;
  }
}

// The positions of the set bits of the unit's tiles, at most `count`; returns how many.
std::size_t append_bits(const AggregationUnitPlan& unit, const std::byte* bitmap, std::size_t count,
                        std::uint32_t* positions) {
  const std::uint32_t tile_bits = unit.header.tile_bits;
  const std::size_t tile_bytes = std::size_t{1} << (tile_bits - 3);
  std::size_t found = 0;
  for (std::size_t i = 0; i < unit.slices.size(); ++i) {
    const std::uint32_t tile = unit.slices[i].tile;
    if (i + 1 < unit.slices.size() && unit.slices[i + 1].tile == tile) continue;
    for (std::size_t at = 0; at < tile_bytes; at += 8) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, bitmap + at, 8);
      for (; bits != 0 && found < count; bits &= bits - 1) {
        positions[found++] = (tile << tile_bits) + static_cast<std::uint32_t>(at * 8) +
                             static_cast<std::uint32_t>(std::countr_zero(bits));
      }
    }
    bitmap += tile_bytes;
  }
  return found;
}

}  // namespace

void append_result(const AggregationUnitPlan& unit, const std::byte* result,
                   RawVector<std::uint32_t>& positions, RawVector<std::byte>& values) {
  const sparse_aggregation::DescriptorHeader& h = unit.header;
  sparse_aggregation::ResultHeader answer;
  std::memcpy(&answer, result, sizeof(answer));
  const std::size_t count = answer.num_entries, before = positions.size();
  const std::size_t value_size = sparse_aggregation::value_bytes(h.value_type);
  positions.resize(before + count);
  values.resize((before + count) * value_size);
  std::uint32_t* new_positions = positions.data() + before;
  std::byte* new_values = values.data() + before * value_size;
  const std::byte* body = result + sparse_aggregation::kWordBytes;
  if (h.format == sparse_aggregation::kCoo) {
    append_records(h, body, count, new_positions, new_values);
    return;
  }
  const std::size_t bitmap_bytes = std::size_t{h.num_tiles} << (h.tile_bits - 3);
  const std::size_t found = append_bits(unit, body, count, new_positions);
  if (found != count) throw DeviceError("xrt", "the card's bitmap contradicts its count");
  std::memcpy(new_values, body + bitmap_bytes, count * value_size);
}

}  // namespace tandem::device::xrt_card
