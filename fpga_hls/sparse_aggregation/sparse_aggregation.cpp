// SPDX-License-Identifier: Apache-2.0
//
// sparse_aggregation adds the sparse vectors of several sources. One call processes one compute
// unit's share of a partition.
//
// abi.h has the layouts and the cycle model, README.md its derivation. Exact: u64 wraps; f32 rounds
// as a loop over the sources does, bit for bit; max: NaN wins. Goals at 300 MHz: II = 1 for every
// bank, row and word loop; 44 bytes a cycle in. FIFO depths: 256 (words, updates), 64
// (stripes, rows, octets, words), 512 (bitmap words). Memory: 64 URAM of accumulators, 8 of FIFOs.
// Errors: a bad descriptor gives a Status, and nothing outside the buffers is accessed.
#include "descriptor.h"
#include "emit.h"

using namespace tandem::sparse_aggregation;

namespace {

// What the unit counted (see ResultHeader).
struct Counts {
  std::uint32_t num_runs;
  std::uint32_t accumulate_cycles;
  std::uint32_t num_emit_runs;
  std::uint32_t emit_cycles;
};

struct Ports {
  const Word* descriptor;
  const Word* positions;
  const Word* values;
  Word* result;
};

// Of the tile that is filled: what all runs need, and what they count.
struct Filling {
  TileRange range;
  Arithmetic how;
  Order order;
  std::uint32_t entries;  // positions present
};

void flush(const Ports& ports, Batch& batch, Filling& filling, Tile& tile, Counts& counts) {
  if (batch.num_pieces == 0) return;
  BankCounts banks[kBanks];
#pragma HLS array_partition variable = banks complete
  accumulate_run(ports.positions, ports.values, batch, filling.range, filling.how, filling.order,
                 tile, banks);
  std::uint32_t slowest =
      larger(port_cycles(batch.position_words + batch.value_words), batch.steps);
  for (std::uint32_t bank = 0; bank < kBanks; ++bank) {
#pragma HLS unroll
    slowest = larger(slowest, banks[bank].cycles);
    filling.entries += banks[bank].entries;
  }
  counts.accumulate_cycles += slowest;
  ++counts.num_runs;
  batch.num_pieces = batch.position_words = batch.value_words = batch.steps = 0;
}

// A source's words: where its positions and values begin.
struct SourceWords {
  std::uint32_t positions;
  std::uint32_t values;
};

void add_piece(const Piece& piece, SourceWords words, std::uint32_t value_type, Batch& batch) {
#pragma HLS inline
  const std::uint32_t at = batch.num_pieces++;
  const std::uint32_t shift = value_type == kU64 ? 3 : 4;  // entries of a word
  const std::uint32_t first = piece.begin >> 4, first_value = piece.begin >> shift;
  batch.pieces[at] = piece;
  batch.positions[at].first = words.positions + first;
  batch.positions[at].last = ((piece.end - 1) >> 4) - first;
  batch.values[at].first = words.values + first_value;
  batch.values[at].last = ((piece.end - 1) >> shift) - first_value;
  batch.position_words += batch.positions[at].last + 1;
  batch.value_words += batch.values[at].last + 1;
  batch.steps += groups_of(piece) + 1;
}

// Adds entries [slice.begin, slice.end) in pieces that fit their runs; cuts are between groups.
void add_slice(const Ports& ports, Piece slice, SourceWords words, Batch& batch, Filling& filling,
               Tile& tile, Counts& counts) {
  slice.opens = true;
cut_slice:
  while (slice.begin < slice.end) {
    if (batch.num_pieces == kRunPieces || batch.steps + 2 > kRunGroups) {
      flush(ports, batch, filling, tile, counts);
    }
    Piece piece = slice;
    const std::uint32_t room = kRunGroups - batch.steps - 1;
    if (groups_of(slice) > room) piece.end = (slice.begin / kLanes + room) * kLanes;
    add_piece(piece, words, filling.how.value_type, batch);
    slice.begin = piece.end;
    slice.opens = false;
  }
}

// Everything of one tile into the accumulators; `entries`: the positions that are there.
Verdict fill_tile(const Ports& ports, const DescriptorHeader& h, std::uint32_t index,
                  TileRange range, Sources& sources, Tile& tile, Counts& counts,
                  std::uint32_t& entries) {
  Filling filling = Filling();
  filling.range = range;
  filling.how.value_type = h.value_type;
  filling.how.reduction = h.reduction;
  Batch batch = Batch();
  std::uint32_t ends[kMaxSources];
#pragma HLS array_partition variable = ends cyclic factor = 16
  read_ends(ports.descriptor, h, index, ends);
fill_sources:
  for (std::uint32_t s = 0; s < h.num_sources; ++s) {
#pragma HLS loop_tripcount min = 1 max = 1024
    const std::uint32_t end = ends[s];
    if (end < sources.taken[s] || end > sources.num_entries[s]) return verdict(kBadEnds, s);
    Piece slice;
    slice.begin = sources.taken[s];
    slice.end = end;
    slice.source = s;
    SourceWords words;
    words.positions = sources.positions_word[s];
    words.values = sources.values_word[s];
    add_slice(ports, slice, words, batch, filling, tile, counts);
    sources.taken[s] = end;
  }
  flush(ports, batch, filling, tile, counts);
  entries = filling.entries;
  const std::uint32_t bad = filling.order.bad_source;
  return bad == 0 ? verdict(kOk, 0) : verdict(kBadPosition, bad - 1);
}

Verdict aggregate(const Ports& ports, const DescriptorHeader& h, Sources& sources, Tile& tile,
                  Packing& packing, Counts& counts) {
  EmitShape shape;
  shape.value_type = h.value_type;
  shape.format = h.format;
  shape.num_blocks = 1u << (h.tile_bits - kMinTileBits);
  std::uint32_t previous = 0;
visit_tiles:
  for (std::uint32_t t = 0; t < h.num_tiles; ++t) {
    const std::uint32_t number = read_tile(ports.descriptor, h, t);
    if (number > (h.last_position >> h.tile_bits) || (t > 0 && number <= previous)) {
      return verdict(kBadTile, t);
    }
    previous = number;
    TileRange range;
    range.first = number << h.tile_bits;
    const std::uint32_t left = h.last_position - range.first;
    const std::uint32_t last = (1u << h.tile_bits) - 1;
    range.last_offset = left < last ? left : last;
    std::uint32_t entries = 0;
    const Verdict filled = fill_tile(ports, h, t, range, sources, tile, counts, entries);
    if (filled.status != kOk) return filled;
    shape.first_position = range.first;
    shape.bitmap_word = 1 + t * shape.num_blocks;
    counts.emit_cycles += emit_tile(tile, shape, entries, packing, ports.result);
    ++counts.num_emit_runs;
  }
check_ends:
  for (std::uint32_t s = 0; s < h.num_sources; ++s) {
#pragma HLS pipeline II = 1
    if (sources.taken[s] != sources.num_entries[s]) return verdict(kBadEnds, s);
  }
  close_packing(ports.result, shape, packing);
  return verdict(kOk, packing.gathered.num_entries);
}

void write_result_header(Word* result, const Verdict& answer, std::uint32_t num_words,
                         std::uint32_t tag, const Counts& counts) {
  const bool ok = answer.status == kOk;
  Word word(0);
  word[0] = kMagic;
  word[1] = kAbiVersion;
  word[2] = answer.status;
  word[3] = ok ? 0 : answer.detail;
  word[4] = ok ? num_words : 1;
  word[5] = ok ? answer.detail : 0;
  word[6] = tag;
  word[7] = counts.num_runs;
  word[8] = counts.accumulate_cycles;
  word[9] = counts.num_emit_runs;
  word[10] = counts.emit_cycles;
  result[0] = word;
}

}  // namespace

// For each tile with entries, adds the slices of all sources to accumulators on chip, source after
// source (accumulate.h), then writes the tile out in order (emit.h). All ports may point to one
// buffer: descriptor, positions and values are separate ports only so that the loaders burst
// independently.
extern "C" void sparse_aggregation(const Word* descriptor, const Word* positions,
                                   const Word* values, Word* result, std::uint32_t descriptor_words,
                                   std::uint32_t result_words) {
#pragma HLS interface m_axi port = descriptor bundle = gmem_tables offset = slave
#pragma HLS interface m_axi port = positions bundle = gmem_positions offset = \
    slave max_read_burst_length = 64 num_read_outstanding = 16
#pragma HLS interface m_axi port = values bundle = gmem_values offset = \
    slave max_read_burst_length = 64 num_read_outstanding = 16
#pragma HLS interface m_axi port = result bundle = gmem_result offset = \
    slave max_write_burst_length = 64 num_write_outstanding = 16
#pragma HLS interface s_axilite port = descriptor
#pragma HLS interface s_axilite port = positions
#pragma HLS interface s_axilite port = values
#pragma HLS interface s_axilite port = result
#pragma HLS interface s_axilite port = descriptor_words
#pragma HLS interface s_axilite port = result_words
#pragma HLS interface s_axilite port = return
  if (descriptor_words < 1 || result_words < 1) return;
  Tile tile;
#pragma HLS disaggregate variable = tile
#pragma HLS array_partition variable = tile.values dim = 1 complete
#pragma HLS bind_storage variable = tile.values type = ram_2p impl = uram
#pragma HLS array_partition variable = tile.present dim = 1 complete
#pragma HLS array_partition variable = tile.present dim = 3 complete
#pragma HLS bind_storage variable = tile.present type = ram_2p impl = lutram
  Sources sources;
  Counts counts = Counts();
  Packing packing;
  Ports ports;
  ports.descriptor = descriptor;
  ports.positions = positions;
  ports.values = values;
  ports.result = result;
  open_packing(packing, 1);
  const DescriptorHeader h = read_header(descriptor);
  Verdict answer = check_header(h, descriptor_words);
  if (answer.status == kOk) answer = load_sources(descriptor, h, sources);
  if (answer.status == kOk) {
    const std::uint32_t blocks = h.num_tiles << (h.tile_bits - kMinTileBits);
    if (tandem::sparse_aggregation::result_words(h.format, h.value_type, h.tile_bits, h.num_tiles,
                                                 answer.detail) > result_words) {
      answer = verdict(kBadResult, 0);
    } else {
      if (h.format == kBitmap) packing.next_word += blocks;
      clear_presence(tile);
      answer = aggregate(ports, h, sources, tile, packing, counts);
    }
  }
  write_result_header(result, answer, packing.next_word, h.tag, counts);
}
