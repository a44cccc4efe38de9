// SPDX-License-Identifier: Apache-2.0
//
// sparse_product multiplies a sparse matrix by rows with a vector. One call computes one compute
// unit's rows; the matrix stays in the unit's memory between calls.
//
// abi.h has the layouts, the order of the sums and the cycle model, README.md its derivation.
// Exact: products and sums are rounded as IEEE 754 says, in that order, bit for bit except for the
// payload of a NaN. Goals at 300 MHz: II = 1 for every loop; 44 bytes a cycle of each port. Errors:
// a bad matrix gives a Status, and nothing outside the buffers is accessed.
#include "stages.h"

using namespace tandem::sparse_product;
using tandem::kernel_status::Verdict;
using tandem::kernel_status::verdict;

namespace {

MatrixHeader read_header(const Word* matrix) {
  const Word word = matrix[0];
  MatrixHeader h;
  h.magic = word[0];
  h.abi_version = word[1];
  h.num_words = word[2];
  h.num_rows = word[3];
  h.num_columns = word[4];
  h.segments_word = word[5];
  return h;
}

bool fits(const MatrixHeader& h, std::uint32_t first, std::uint64_t words) {
#pragma HLS inline
  return first + words <= h.num_words;
}

Verdict check_header(const MatrixHeader& h, std::uint32_t matrix_words, std::uint32_t x_words,
                     std::uint32_t room) {
  const Verdict identity =
      tandem::kernel_status::check_identity(h.magic, h.abi_version, kMagic, kAbiVersion);
  if (identity.status != kOk) return identity;
  if (h.num_rows == 0 || h.num_rows > kMaxRows || h.num_columns == 0 ||
      h.num_columns > kMaxColumns) {
    return verdict(kBadShape, 0);
  }
  const std::uint64_t segments =
      static_cast<std::uint64_t>(num_blocks(h.num_rows)) * num_tiles(h.num_columns);
  if (h.num_words > matrix_words || !fits(h, h.segments_word, (segments + 3) / 4)) {
    return verdict(kBadSection, 0);
  }
  if (value_words(h.num_columns) > x_words) return verdict(kBadBuffer, 0);
  if (result_words(h.num_rows) > room) return verdict(kBadBuffer, 1);
  return verdict(kOk, 0);
}

Segment read_segment(const Word* matrix, const MatrixHeader& h, std::uint32_t index) {
#pragma HLS inline
  const Word word = matrix[h.segments_word + index / 4];
  const std::uint32_t lane = index % 4 * 4;
  Segment segment;
  segment.lengths_word = word[lane];
  segment.groups_word = word[lane + 1];
  segment.num_groups = word[lane + 2];
  segment.num_steps = word[lane + 3];
  return segment;
}

// Whether the lengths of `rows` rows add up, so that no stage waits for a group that never comes.
bool lengths_add_up(const Word* matrix, const Segment& segment, std::uint32_t rows) {
  std::uint64_t groups = 0, steps = 0;
check_lengths:
  for (std::uint32_t w = 0; w < value_words(rows); ++w) {
#pragma HLS pipeline II = 1
    const Word word = matrix[segment.lengths_word + w];
    for (std::uint32_t i = 0; i < kWordValues; ++i) {
#pragma HLS unroll
      if (w * kWordValues + i < rows) {
        groups += word[i];
        steps += word[i] == 0 ? 1u : word[i];
      }
    }
  }
  return groups == segment.num_groups && steps == segment.num_steps;
}

// Before anything is computed.
Verdict check_segments(const Word* matrix, const MatrixHeader& h) {
  const std::uint32_t blocks = num_blocks(h.num_rows), tiles = num_tiles(h.num_columns);
check_blocks:
  for (std::uint32_t b = 0; b < blocks; ++b) {
    const std::uint32_t rows = block_rows(h.num_rows, b);
  check_tiles:
    for (std::uint32_t t = 0; t < tiles; ++t) {
      const std::uint32_t index = b * tiles + t;
      const Segment segment = read_segment(matrix, h, index);
      if (!fits(h, segment.lengths_word, value_words(rows)) ||
          !fits(h, segment.groups_word, segment.num_groups)) {
        return verdict(kBadSection, 1 + index);
      }
      if (!lengths_add_up(matrix, segment, rows)) return verdict(kBadLengths, index);
    }
  }
  return verdict(kOk, 0);
}

Verdict multiply(const Word* matrix, const Word* entries, const Word* x, Word* result,
                 const MatrixHeader& h, VectorTile& tile, RowBlock& block) {
  const std::uint32_t blocks = num_blocks(h.num_rows), tiles = num_tiles(h.num_columns);
multiply_blocks:
  for (std::uint32_t b = 0; b < blocks; ++b) {
    SegmentShape shape;
    shape.num_rows = block_rows(h.num_rows, b);
    clear_block(value_words(shape.num_rows), block);
  multiply_tiles:
    for (std::uint32_t t = 0; t < tiles; ++t) {
      shape.num_columns = tile_columns(h.num_columns, t);
      shape.place = read_segment(matrix, h, b * tiles + t);
      load_tile(x, t * kTileWords, value_words(shape.num_columns), tile);
      bool bad = false;
      run_segment(matrix, entries, shape, tile, block, bad);
      if (bad) return verdict(kBadColumn, b * tiles + t);
    }
    store_block(value_words(shape.num_rows), block, result, 1 + b * kBlockWords);
  }
  return verdict(kOk, 0);
}

}  // namespace

// matrix and entries are the same buffer: two ports, so that lengths and groups burst
// independently.
extern "C" void sparse_product(const Word* matrix, const Word* entries, const Word* x, Word* result,
                               std::uint32_t matrix_words, std::uint32_t x_words,
                               std::uint32_t result_words, std::uint32_t tag) {
#pragma HLS interface m_axi port = matrix bundle = gmem_matrix offset = \
    slave max_read_burst_length = 64 num_read_outstanding = 16
#pragma HLS interface m_axi port = entries bundle = gmem_entries offset = \
    slave max_read_burst_length = 64 num_read_outstanding = 32
#pragma HLS interface m_axi port = x bundle = gmem_x offset = slave max_read_burst_length = \
    64 num_read_outstanding = 16
#pragma HLS interface m_axi port = result bundle = gmem_result offset = \
    slave max_write_burst_length = 64 num_write_outstanding = 16
#pragma HLS interface s_axilite port = matrix
#pragma HLS interface s_axilite port = entries
#pragma HLS interface s_axilite port = x
#pragma HLS interface s_axilite port = result
#pragma HLS interface s_axilite port = matrix_words
#pragma HLS interface s_axilite port = x_words
#pragma HLS interface s_axilite port = result_words
#pragma HLS interface s_axilite port = tag
#pragma HLS interface s_axilite port = return
  if (matrix_words < 1 || result_words < 1) return;
  VectorTile tile;
#pragma HLS disaggregate variable = tile
#pragma HLS array_partition variable = tile.values dim = 1 complete
#pragma HLS array_partition variable = tile.values dim = 3 complete
#pragma HLS bind_storage variable = tile.values type = ram_2p impl = uram
  RowBlock block;
#pragma HLS disaggregate variable = block
#pragma HLS array_partition variable = block.sums dim = 2 complete
#pragma HLS bind_storage variable = block.sums type = ram_2p impl = uram
  const MatrixHeader h = read_header(matrix);
  Verdict answer = check_header(h, matrix_words, x_words, result_words);
  if (answer.status == kOk) answer = check_segments(matrix, h);
  if (answer.status == kOk) answer = multiply(matrix, entries, x, result, h, tile, block);
  const bool ok = answer.status == kOk;
  Word word(0);
  word[0] = kMagic;
  word[1] = kAbiVersion;
  word[2] = answer.status;
  word[3] = answer.detail;
  word[4] = ok ? tandem::sparse_product::result_words(h.num_rows) : 1;
  word[5] = tag;
  result[0] = word;
}
