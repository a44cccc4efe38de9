// SPDX-License-Identifier: Apache-2.0
//
// embedding_update sums the gradients of rows of an embedding table and applies an optimiser's rule
// to them, in the card's memory. One call updates one compute unit's share of a table.
//
// abi.h has the layouts and the cycle model, README.md its derivation. Exact: every operation is
// rounded as in host/training/optimizer, bit for bit, except for the payload of a NaN. Goals at 300
// MHz: a word a cycle in every stage but where abi.h's kAddCycles count; 44 bytes a cycle of a
// port. Errors: a bad input gives a Status before the table changes, and nothing outside the
// buffers is accessed.
#include "stages.h"

using namespace tandem::embedding_update;
using tandem::kernel_status::Verdict;
using tandem::kernel_status::verdict;

namespace {

struct Counts {
  std::uint32_t sum_cycles;
  std::uint32_t measure_cycles;
};

InputHeader read_header(const Word* input) {
  const Word word = input[0];
  InputHeader h;
  h.magic = word[0];
  h.abi_version = word[1];
  h.num_words = word[2];
  h.rule = word[3];
  h.decay_mode = word[4];
  h.width = word[5];
  h.table_word = word[6];
  h.num_table_rows = word[7];
  h.num_entries = word[8];
  h.num_inputs = word[9];
  h.rows_word = word[10];
  h.gradients_word = word[11];
  h.tag = word[12];
  return h;
}

Verdict check_header(const InputHeader& h, std::uint32_t input_words, std::uint32_t table_words,
                     std::uint32_t room) {
  const Verdict identity =
      tandem::kernel_status::check_identity(h.magic, h.abi_version, kMagic, kAbiVersion);
  if (identity.status != kOk) return identity;
  if (h.num_words > input_words) return verdict(kBadSection, 0);
  if (h.rule > kRowAdam || h.decay_mode > kDecoupled || h.width == 0 || h.width > kMaxWidth ||
      h.num_entries > h.num_table_rows || h.num_inputs > kMaxInputs ||
      (h.rule != kRowwiseAdagrad && h.decay_mode == kDecoupled)) {
    return verdict(kBadShape, 0);
  }
  const std::uint64_t gradients = static_cast<std::uint64_t>(h.num_inputs) * row_words(h.width);
  const std::uint64_t records =
      static_cast<std::uint64_t>(h.num_table_rows) * record_words(h.rule, h.width);
  if (static_cast<std::uint64_t>(h.rows_word) + entry_words(h.num_entries) > h.num_words ||
      h.gradients_word + gradients > h.num_words || h.table_word + records > table_words ||
      h.num_words < 2) {
    return verdict(kBadSection, 1);
  }
  if (result_words(h.rule, h.width, h.num_entries) > room) return verdict(kBadResult, 0);
  return verdict(kOk, 0);
}

// Before anything is written: rows ascend and are there, counts add up.
Verdict check_entries(const Word* input, const InputHeader& h) {
  Word word(0);
  std::uint32_t next = 0;  // the smallest row that may come
  std::uint64_t inputs = 0;
check_entries:
  for (std::uint32_t i = 0; i < h.num_entries; ++i) {
#pragma HLS pipeline II = 1
    if (i % kWordEntries == 0) word = input[h.rows_word + i / kWordEntries];
    const RowEntry entry = entry_of(word, i);
    if (entry.row < next || entry.row >= h.num_table_rows) return verdict(kBadRow, i);
    if (entry.count == 0 || entry.count > h.num_inputs) return verdict(kBadCount, i);
    next = entry.row + 1;
    inputs += entry.count;
  }
  return inputs == h.num_inputs ? verdict(kOk, 0) : verdict(kBadCount, h.num_entries);
}

// The calls are processes that run at the same time; the two counts are apart because each has one
// writer.
void update(const Word* input, const Word* table_in, Word* table_out, Word* result,
            const Shape& shape, const Word& factors, std::uint32_t& sum_cycles,
            std::uint32_t& measure_cycles) {
#pragma HLS dataflow
  EntryStream to_sum("to_sum"), to_records("to_records"), to_store("to_store");
  WordStream gradients("gradients"), sums("sums"), records("records"), sums_on("sums_on"),
      records_on("records_on"), updated("updated");
  MeasureStream measures("measures");
  FactorStream rows("rows");
  load_entries(input, shape, to_sum, to_records, to_store);
  load_gradients(input, shape, gradients);
  load_records(table_in, shape, to_records, records);
  sum_rows(shape, to_sum, gradients, sums, sum_cycles);
  measure_rows(shape, factors, sums, records, sums_on, records_on, measures, measure_cycles);
  divide_rows(shape, factors, measures, rows);
  apply_rows(shape, factors, sums_on, records_on, rows, updated);
  store_records(shape, to_store, updated, table_out, result);
}

void write_result_header(Word* result, const Verdict& answer, const InputHeader& h,
                         const Shape& shape, const Counts& counts) {
  const bool ok = answer.status == kOk;
  Word word(0);
  word[0] = kMagic;
  word[1] = kAbiVersion;
  word[2] = answer.status;
  word[3] = answer.detail;
  word[4] = ok ? 1 + shape.num_entries * shape.record : 1;
  word[5] = h.tag;
  word[6] = ok ? shape.num_inputs * shape.words : 0;
  word[7] = ok ? shape.num_entries * shape.record : 0;
  word[8] = counts.sum_cycles;
  word[9] = counts.measure_cycles;
  result[0] = word;
}

}  // namespace

// table_in and table_out are the same memory: two ports, so that reads and writes burst
// independently.
extern "C" void embedding_update(const Word* input, const Word* table_in, Word* table_out,
                                 Word* result, std::uint32_t input_words, std::uint32_t table_words,
                                 std::uint32_t result_words) {
#pragma HLS interface m_axi port = input bundle = gmem_input offset = \
    slave max_read_burst_length = 64 num_read_outstanding = 16
#pragma HLS interface m_axi port = table_in bundle = gmem_table_in offset = \
    slave max_read_burst_length = 64 num_read_outstanding = 64
#pragma HLS interface m_axi port = table_out bundle = gmem_table_out offset = \
    slave max_write_burst_length = 64 num_write_outstanding = 64
#pragma HLS interface m_axi port = result bundle = gmem_result offset = \
    slave max_write_burst_length = 64 num_write_outstanding = 16
#pragma HLS interface s_axilite port = input
#pragma HLS interface s_axilite port = table_in
#pragma HLS interface s_axilite port = table_out
#pragma HLS interface s_axilite port = result
#pragma HLS interface s_axilite port = input_words
#pragma HLS interface s_axilite port = table_words
#pragma HLS interface s_axilite port = result_words
#pragma HLS interface s_axilite port = return
  if (input_words < 2 || result_words < 1) return;
  const InputHeader h = read_header(input);
  const Word factors = input[1];
  Verdict answer = check_header(h, input_words, table_words, result_words);
  if (answer.status == kOk) answer = check_entries(input, h);
  Shape shape = Shape();
  Counts counts = Counts();
  if (answer.status == kOk) {
    shape.rule = h.rule;
    shape.decay_mode = h.decay_mode;
    shape.width = h.width;
    shape.words = row_words(h.width);
    shape.record = record_words(h.rule, h.width);
    shape.num_entries = h.num_entries;
    shape.num_inputs = h.num_inputs;
    shape.rows_word = h.rows_word;
    shape.gradients_word = h.gradients_word;
    shape.table_word = h.table_word;
    update(input, table_in, table_out, result, shape, factors, counts.sum_cycles,
           counts.measure_cycles);
  }
  write_result_header(result, answer, h, shape, counts);
}
