// SPDX-License-Identifier: Apache-2.0
//
// attention_decode: decode attention over paged KV in HBM. One call processes one layer of one
// sub-batch.
//
// abi.h has the layouts, README.md the time of a run. One read of K and V serves all query heads of
// a KV head, up to 16 rows. f32 throughout on f16 or i8 storage; a NaN stays in its head. Errors: a
// bad descriptor gives a Status and changes nothing. Goals at 300 MHz: II = 1 for every word loop;
// a word a cycle from each pool port, of which a pseudo-channel gives 44 bytes. Pages are read word
// by word, 64 of them outstanding, so that a page need not wait for the one before.
#include "append.h"
#include "stages.h"

using namespace tandem::attention_decode;

namespace {

// The query rows a tile covers: `queries` consecutive rows of q, `heads` heads of the group each.
struct TileRows {
  std::uint32_t q_row;
  std::uint32_t queries;
  std::uint32_t first_head;
  std::uint32_t heads;
};

// Rows of one query are consecutive words.
void load_queries(const IoWord* descriptor, const DescriptorHeader& h, std::uint32_t kv_head,
                  TileRows rows, QueryTile query) {
  const float scale = bits_to_float(h.scale_bits);
  const std::uint32_t row_words = float_row_words(h.chunks), last = rows.heads * row_words - 1;
  std::uint32_t i = 0, k = 0, row = 0, w = 0;
load_query_words:
  for (std::uint32_t n = 0; n < rows.queries * rows.heads * row_words; ++n) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 2 max = 256
    const std::uint32_t begin =
        h.q_word +
        (((rows.q_row + i) * h.kv_heads + kv_head) * h.group + rows.first_head) * row_words;
    const IoWord beat = descriptor[begin + k];
    for (std::uint32_t lane = 0; lane < kWordFloats; ++lane) {
#pragma HLS unroll
      query[row][w / 2][(w & 1u) * kWordFloats + lane] = bits_to_float(beat[lane]) * scale;
    }
    const bool row_ends = w == row_words - 1, query_ends = k == last;
    w = row_ends ? 0 : w + 1;
    row += row_ends ? 1 : 0;
    k = query_ends ? 0 : k + 1;
    i += query_ends ? 1 : 0;
  }
}

void clear_tile(std::uint32_t num_rows, std::uint32_t chunks, RowState peaks, RowState weight_sums,
                OutputTile output) {
  std::uint32_t row = 0, c = 0;
clear_chunks:
  for (std::uint32_t n = 0; n < num_rows * chunks; ++n) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 128
    peaks[row] = bits_to_float(0xff800000u);  // -infinity
    weight_sums[row] = 0.0f;
    for (int i = 0; i < kChunk; ++i) {
#pragma HLS unroll
      output[0][row][c][i] = 0.0f;
      output[1][row][c][i] = 0.0f;
    }
    const bool row_ends = c == chunks - 1;
    c = row_ends ? 0 : c + 1;
    row += row_ends ? 1 : 0;
  }
}

// Lists this unit's pages among pages [begin, begin + kJobBlock) of the sequence.
Run list_jobs(const IoWord* descriptor, const DescriptorHeader& h, const UnitShare& unit,
              const SequenceEntry& s, std::uint32_t begin, std::uint32_t head, Blocks k_blocks,
              Blocks v_blocks) {
  const std::uint32_t pages = (s.num_attend + h.page_tokens - 1) / h.page_tokens;
  const std::uint32_t end = pages - begin < kJobBlock ? pages : begin + kJobBlock;
  Run run = Run();
  run.page_tokens = h.page_tokens;
list_pages:
  for (std::uint32_t j = begin; j < end; ++j) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 256
    const std::uint32_t page = read_page(descriptor, h, s.page_begin + j);
    const std::uint32_t left = s.num_attend - j * h.page_tokens;
    if (page % unit.num_slices == unit.slice) {
      const std::uint32_t block =
          static_cast<std::uint32_t>(block_word(h, unit, page, h.layer, head));
      k_blocks[run.pages] = block;
      v_blocks[run.pages] = block;
      ++run.pages;
      run.last_tokens = left < h.page_tokens ? left : h.page_tokens;
    }
  }
  return run;
}

std::uint32_t block_of(const DescriptorHeader& h, const UnitShare& unit, std::uint32_t own_head,
                       std::uint32_t q_row) {
#pragma HLS inline
  return 1 + (q_row * unit.head_count + own_head) * result_block_words(h.group, h.chunks);
}

void write_tile(IoWord* result, const DescriptorHeader& h, const UnitShare& unit,
                std::uint32_t own_head, TileRows rows, const RowState peaks,
                const RowState weight_sums, const OutputTile output) {
  const std::uint32_t row_words = float_row_words(h.chunks);
  std::uint32_t lse[kTileRows];
#pragma HLS array_partition variable = lse complete
  std::uint32_t i = 0, g = 0, w = 0, row = 0;
write_words:
  for (std::uint32_t n = 0; n < rows.queries * rows.heads * row_words; ++n) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 2 max = 256
    const float sum = weight_sums[row];
    const bool empty = sum == 0.0f;
    const float inverse = empty ? 0.0f : 1.0f / sum;
    if (w == 0) lse[row] = float_to_bits(empty ? peaks[row] : peaks[row] + log_of(sum));
    IoWord beat;
    for (std::uint32_t lane = 0; lane < kWordFloats; ++lane) {
#pragma HLS unroll
      const std::uint32_t at = (w & 1u) * kWordFloats + lane;
      beat[lane] = float_to_bits((output[0][row][w / 2][at] + output[1][row][w / 2][at]) * inverse);
    }
    const std::uint32_t block = block_of(h, unit, own_head, rows.q_row + i);
    result[block + (rows.first_head + g) * row_words + w] = beat;
    const bool row_ends = w == row_words - 1, query_ends = row_ends & (g == rows.heads - 1);
    w = row_ends ? 0 : w + 1;
    row += row_ends ? 1 : 0;
    g = query_ends ? 0 : (row_ends ? g + 1 : g);
    i += query_ends ? 1 : 0;
  }
write_lse:
  for (std::uint32_t query = 0; query < rows.queries; ++query) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 16
    IoWord word(0);
    for (std::uint32_t head = 0; head < kTileRows; ++head) {
#pragma HLS unroll
      if (head < rows.heads) word[head] = lse[query * rows.heads + head];
    }
    const std::uint32_t block = block_of(h, unit, own_head, rows.q_row + query);
    result[block + h.group * row_words + rows.first_head / kWordFloats] = word;
  }
}

// One tile of queries against every page of the sequence; returns the tokens read.
std::uint32_t attend_tile(const IoWord* descriptor, IoWord* result, const PoolWord* k_pool,
                          const PoolWord* v_pool, const DescriptorHeader& h, const UnitShare& unit,
                          const SequenceEntry& s, std::uint32_t own_head, TileRows rows) {
  QueryTile query;
#pragma HLS array_partition variable = query dim = 3 complete
#pragma HLS array_partition variable = query dim = 1 cyclic factor = 2
  OutputTile output;
#pragma HLS array_partition variable = output dim = 4 complete
#pragma HLS array_partition variable = output dim = 2 cyclic factor = 2
#pragma HLS array_partition variable = output dim = 1 complete
  RowState peaks, weight_sums;
  Blocks k_blocks, v_blocks;
  TileShape shape;
  shape.rows = rows.queries * rows.heads;
  shape.chunks = h.chunks;
  shape.kv_type = h.kv_type;
  load_queries(descriptor, h, unit.head_begin + own_head, rows, query);
  clear_tile(shape.rows, h.chunks, peaks, weight_sums, output);
  const std::uint32_t pages = (s.num_attend + h.page_tokens - 1) / h.page_tokens;
  std::uint32_t tokens = 0;
attend_blocks:
  for (std::uint32_t begin = 0; begin < pages; begin += kJobBlock) {
    const Run run = list_jobs(descriptor, h, unit, s, begin, own_head, k_blocks, v_blocks);
    if (run.pages == 0) continue;
    attend_run(k_pool, v_pool, shape, k_blocks, v_blocks, run, query, peaks, weight_sums, output);
    tokens += num_tokens(run);
  }
  write_tile(result, h, unit, own_head, rows, peaks, weight_sums, output);
  return tokens;
}

// Tiles hold whole groups where a group has at most 16 heads, else 16 heads of one query.
std::uint64_t attend_sequence(const IoWord* descriptor, IoWord* result, const PoolWord* k_pool,
                              const PoolWord* v_pool, const DescriptorHeader& h,
                              const UnitShare& unit, const SequenceEntry& s) {
  const std::uint32_t heads = h.group < kTileRows ? h.group : kTileRows;
  const std::uint32_t queries = kTileRows / heads;
  std::uint64_t tokens = 0;
attend_heads:
  for (std::uint32_t own_head = 0; own_head < unit.head_count; ++own_head) {
  attend_queries:
    for (std::uint32_t i = 0; i < s.num_q; i += queries) {
    attend_group:
      for (std::uint32_t g = 0; g < h.group; g += heads) {
        TileRows rows;
        rows.q_row = s.q_begin + i;
        rows.queries = s.num_q - i < queries ? s.num_q - i : queries;
        rows.first_head = g;
        rows.heads = h.group - g < heads ? h.group - g : heads;
        tokens += attend_tile(descriptor, result, k_pool, v_pool, h, unit, s, own_head, rows);
      }
    }
  }
  return tokens;
}

void write_result_header(IoWord* result, const Verdict& answer, std::uint64_t kv_words,
                         std::uint32_t tag) {
  IoWord word(0);
  word[0] = kMagic;
  word[1] = kAbiVersion;
  word[2] = answer.status;
  word[3] = answer.detail;
  word[4] = answer.status == kOk ? answer.detail : 1;
  word[5] = static_cast<std::uint32_t>(kv_words);
  word[6] = static_cast<std::uint32_t>(kv_words >> 32);
  word[7] = tag;
  result[0] = word;
}

std::uint64_t attend_all(const IoWord* descriptor, IoWord* result, PoolWord* k_pool,
                         PoolWord* v_pool, const DescriptorHeader& h, const UnitShare& unit) {
  std::uint64_t tokens = 0;
append_all:
  for (std::uint32_t i = 0; i < h.num_sequences; ++i) {
    const SequenceEntry s = read_sequence(descriptor, h, i);
    append_sequence(descriptor, h, unit, s, k_pool, v_pool);
  }
attend_all:
  for (std::uint32_t i = 0; i < h.num_sequences; ++i) {
    const SequenceEntry s = read_sequence(descriptor, h, i);
    tokens += attend_sequence(descriptor, result, k_pool, v_pool, h, unit, s);
  }
  return tokens * 2 * page_row_words(h.kv_type, h.chunks);
}

}  // namespace

// Appends the new k, v rows, then answers every query of every sequence with (O, LSE) over this
// unit's pages. K and V pools are in their own HBM channels (gmem_k, gmem_v); everything else uses
// gmem_io. DSPs of a unit, at 2 row lanes of 32 values: 192 multipliers of 1, 64 adders of the
// accumulator of 2, score trees in fabric, 3 exponentials: about 450. 16 units take 80 % of 9,024.
extern "C" void attention_decode(const IoWord* descriptor, IoWord* result, PoolWord* k_pool,
                                 PoolWord* v_pool, std::uint32_t descriptor_words,
                                 std::uint32_t result_words, std::uint32_t pool_words,
                                 std::uint32_t head_begin, std::uint32_t head_count,
                                 std::uint32_t slice, std::uint32_t num_slices) {
#pragma HLS interface m_axi port = descriptor bundle = gmem_io offset = \
    slave max_read_burst_length = 64
#pragma HLS interface m_axi port = result bundle = gmem_io offset = slave max_write_burst_length = \
    64
#pragma HLS interface m_axi port = k_pool bundle = gmem_k offset = slave max_read_burst_length = \
    2 num_read_outstanding = 64
#pragma HLS interface m_axi port = v_pool bundle = gmem_v offset = slave max_read_burst_length = \
    2 num_read_outstanding = 64
#pragma HLS interface s_axilite port = descriptor
#pragma HLS interface s_axilite port = result
#pragma HLS interface s_axilite port = k_pool
#pragma HLS interface s_axilite port = v_pool
#pragma HLS interface s_axilite port = descriptor_words
#pragma HLS interface s_axilite port = result_words
#pragma HLS interface s_axilite port = pool_words
#pragma HLS interface s_axilite port = head_begin
#pragma HLS interface s_axilite port = head_count
#pragma HLS interface s_axilite port = slice
#pragma HLS interface s_axilite port = num_slices
#pragma HLS interface s_axilite port = return
  if (descriptor_words < 2 || result_words < 1) return;
  UnitShare unit;
  unit.descriptor_words = descriptor_words;
  unit.result_words = result_words;
  unit.pool_words = pool_words;
  unit.head_begin = head_begin;
  unit.head_count = head_count;
  unit.slice = slice;
  unit.num_slices = num_slices;
  const DescriptorHeader h = read_header(descriptor);
  Verdict answer = check_header(h, unit);
  std::uint64_t kv_words = 0;
  if (answer.status == kOk) {
    if (h.operation == kAttend) {
      answer = check_attend(descriptor, h, unit);
      if (answer.status == kOk) {
        kv_words = attend_all(descriptor, result, k_pool, v_pool, h, unit);
      }
    } else if (h.operation == kExportPage || h.operation == kImportPage) {
      answer = check_page_move(descriptor, h, unit);
      if (answer.status == kOk) move_page(descriptor, result, h, unit, k_pool, v_pool);
    } else {
      answer = verdict(kBadShape, h.operation);
    }
  }
  write_result_header(result, answer, kv_words, h.tag);
}
