// SPDX-License-Identifier: Apache-2.0
//
// The stages of an update: load entries, gradients and records; sum; measure; divide; apply; store.
//
// One dataflow region for the whole call; all streams lead from a stage to a later one. A word is
// 16 values. Rows are different, so a record is written long after it was read, and no read depends
// on a write. `sum` ends its pipeline between gradient rows, so it adds to no word that is not
// written yet. `measure` adds the squares of a row word after word, which is the order of
// host/training/optimizer, so it takes kAddCycles per word, for the other rules too. The factors of
// a row need two quotients and a root: `divide` takes a row per cycle, and the rows wait in FIFOs
// of kDepth words. FIFOs of a unit: 5 of 512 words (75 BRAM36).
#pragma once

#include "../exact_f32/arithmetic.h"
#include "abi.h"
#include "hls_stream.h"
#include "hls_vector.h"

namespace tandem {
namespace embedding_update {

typedef hls::vector<std::uint32_t, kWordValues> Word;

const std::uint32_t kDepth = 512;

typedef hls::stream<Word, kDepth> WordStream;
typedef hls::stream<RowEntry, kDepth> EntryStream;

// The sizes of the call, which all stages get.
struct Shape {
  std::uint32_t rule;
  std::uint32_t decay_mode;
  std::uint32_t width;
  std::uint32_t words;   // words of a row
  std::uint32_t record;  // words of a record
  std::uint32_t num_entries;
  std::uint32_t num_inputs;
  std::uint32_t rows_word;
  std::uint32_t gradients_word;
  std::uint32_t table_word;
};

// Factors of one row, as bits of f32; kRowwiseAdagrad only.
struct RowFactors {
  std::uint32_t accumulator;
  std::uint32_t step;
  std::uint32_t keep;
};

// The result of `measure` for a row.
struct RowMeasure {
  Word squares;  // 16 partial sums
  std::uint32_t accumulator;
};

typedef hls::stream<RowMeasure, 16> MeasureStream;
typedef hls::stream<RowFactors, 64> FactorStream;

inline RowEntry entry_of(const Word& word, std::uint32_t index) {
#pragma HLS inline
  RowEntry entry;
  entry.row = word[index % kWordEntries * 2];
  entry.count = word[index % kWordEntries * 2 + 1];
  return entry;
}

inline void load_entries(const Word* input, const Shape& shape, EntryStream& to_sum,
                         EntryStream& to_records, EntryStream& to_store) {
  Word word(0);
load_entries:
  for (std::uint32_t i = 0; i < shape.num_entries; ++i) {
#pragma HLS pipeline II = 1
    if (i % kWordEntries == 0) word = input[shape.rows_word + i / kWordEntries];
    const RowEntry entry = entry_of(word, i);
    to_sum.write(entry);
    to_records.write(entry);
    to_store.write(entry);
  }
}

inline void load_gradients(const Word* input, const Shape& shape, WordStream& gradients) {
  const std::uint32_t count = shape.num_inputs * shape.words;
load_gradients:
  for (std::uint32_t i = 0; i < count; ++i) {
#pragma HLS pipeline II = 1
    gradients.write(input[shape.gradients_word + i]);
  }
}

// One loop over the words of all rows: a loop per row would wait for memory once a row.
inline void load_records(const Word* table, const Shape& shape, EntryStream& entries,
                         WordStream& records) {
  const std::uint32_t count = shape.num_entries * shape.record, last = shape.record - 1;
  std::uint32_t first = 0, k = 0;
load_records:
  for (std::uint32_t i = 0; i < count; ++i) {
#pragma HLS pipeline II = 1
    if (k == 0) first = shape.table_word + entries.read().row * shape.record;
    records.write(table[first + k]);
    k = k == last ? 0 : k + 1;
  }
}

// Adds up the gradient rows of each entry. cycles: the cycles of this stage.
inline void sum_rows(const Shape& shape, EntryStream& entries, WordStream& gradients,
                     WordStream& sums, std::uint32_t& cycles) {
  Word row[kMaxRowWords];
  cycles = 0;
sum_entries:
  for (std::uint32_t i = 0; i < shape.num_entries; ++i) {
    const std::uint32_t count = entries.read().count;
  sum_inputs:
    for (std::uint32_t input = 0; input < count; ++input) {
    sum_words:
      for (std::uint32_t k = 0; k < shape.words; ++k) {
#pragma HLS pipeline II = 1
#pragma HLS dependence variable = row type = inter false
#pragma HLS loop_tripcount min = 1 max = 256
        Word word = gradients.read();
        for (std::uint32_t lane = 0; lane < kWordValues; ++lane) {
#pragma HLS unroll
          if (input > 0) word[lane] = exact_f32::add(row[k][lane], word[lane]);
        }
        row[k] = word;
        if (input + 1 == count) sums.write(word);
      }
      cycles += shape.words + kInputCycles;
    }
    cycles += kRowCycles;
  }
}

// The gradient of one word, scaled; with decay mode L2 the decay is added.
inline std::uint32_t scaled(const Word& factors, bool l2, std::uint32_t gradient,
                            std::uint32_t weight) {
#pragma HLS inline
  const std::uint32_t g = exact_f32::multiply(factors[kScale], gradient);
  return l2 ? exact_f32::add(g, exact_f32::multiply(factors[kDecay], weight)) : g;
}

// Forwards sums and records; for kRowwiseAdagrad also the squares of each row. cycles: the cycles
// of this stage.
inline void measure_rows(const Shape& shape, const Word& factors, WordStream& sums,
                         WordStream& records, WordStream& sums_on, WordStream& records_on,
                         MeasureStream& measures, std::uint32_t& cycles) {
  const bool by_row = shape.rule == kRowwiseAdagrad;
  const std::uint32_t count = shape.num_entries * shape.words;
  RowMeasure measure;
  measure.squares = Word(0);
  measure.accumulator = 0;
  std::uint32_t k = 0;
measure_words:
  for (std::uint32_t i = 0; i < count; ++i) {
#pragma HLS pipeline
    if (by_row && k == 0) {
      const Word state = records.read();
      measure.squares = Word(0);
      measure.accumulator = state[0];
    }
    const Word sum = sums.read();
    const Word weights = records.read();
    records_on.write(weights);
    if (shape.rule == kRowAdam) {
      records_on.write(records.read());
      records_on.write(records.read());
    }
    sums_on.write(sum);
    for (std::uint32_t lane = 0; lane < kWordValues; ++lane) {
#pragma HLS unroll
      if (!by_row || k * kWordValues + lane >= shape.width) continue;
      const std::uint32_t g = scaled(factors, shape.decay_mode == kL2, sum[lane], weights[lane]);
      measure.squares[lane] = exact_f32::add(measure.squares[lane], exact_f32::multiply(g, g));
    }
    ++k;
    if (k == shape.words) {
      if (by_row) measures.write(measure);
      k = 0;
    }
  }
  cycles = count * kAddCycles;
}

inline void divide_rows(const Shape& shape, const Word& factors, MeasureStream& measures,
                        FactorStream& rows) {
  if (shape.rule != kRowwiseAdagrad) return;
divide_entries:
  for (std::uint32_t i = 0; i < shape.num_entries; ++i) {
#pragma HLS pipeline II = 1
    RowMeasure measure = measures.read();
    for (std::uint32_t half = kWordValues / 2; half > 0; half /= 2) {
#pragma HLS unroll
      for (std::uint32_t lane = 0; lane < half; ++lane) {
#pragma HLS unroll
        measure.squares[lane] = exact_f32::add(measure.squares[lane], measure.squares[lane + half]);
      }
    }
    RowFactors row;
    const std::uint32_t mean = exact_f32::divide(measure.squares[0], factors[kWidth]);
    row.accumulator = exact_f32::add(measure.accumulator, mean);
    const std::uint32_t divisor =
        exact_f32::add(exact_f32::root(row.accumulator), factors[kEpsilon]);
    row.step = exact_f32::divide(factors[kRate], divisor);
    row.keep = factors[kDecay];
    if (shape.decay_mode == kL2) {
      row.keep =
          exact_f32::subtract(exact_f32::kOne, exact_f32::multiply(row.step, factors[kDecay]));
    }
    rows.write(row);
  }
}

struct Moments {
  std::uint32_t weight, first, second;
};

// Updates one value by kRowAdam.
inline Moments adam(const Word& f, std::uint32_t gradient, Moments old) {
#pragma HLS inline
  using exact_f32::add;
  using exact_f32::divide;
  using exact_f32::multiply;
  using exact_f32::root;
  using exact_f32::subtract;
  const std::uint32_t g = multiply(f[kScale], gradient);
  Moments now;
  now.first = add(multiply(f[kBeta1], old.first), multiply(f[kRest1], g));
  now.second = add(multiply(f[kBeta2], old.second), multiply(f[kRest2], multiply(g, g)));
  const std::uint32_t divisor = add(root(multiply(now.second, f[kCorrect2])), f[kEpsilon]);
  const std::uint32_t step = divide(multiply(now.first, f[kCorrect1]), divisor);
  const std::uint32_t change = add(step, multiply(f[kDecay], old.weight));
  now.weight = subtract(old.weight, multiply(f[kRate], change));
  return now;
}

inline std::uint32_t sgd(const Word& f, std::uint32_t mode, std::uint32_t gradient,
                         std::uint32_t weight) {
#pragma HLS inline
  const std::uint32_t g = scaled(f, mode == kL2, gradient, weight);
  return exact_f32::subtract(weight, exact_f32::multiply(f[kRate], g));
}

inline std::uint32_t adagrad(const Word& f, std::uint32_t mode, const RowFactors& row,
                             std::uint32_t gradient, std::uint32_t weight) {
#pragma HLS inline
  const std::uint32_t g = exact_f32::multiply(f[kScale], gradient);
  const std::uint32_t kept = mode == kNoDecay ? weight : exact_f32::multiply(row.keep, weight);
  return exact_f32::subtract(kept, exact_f32::multiply(row.step, g));
}

inline void apply_rows(const Shape& shape, const Word& factors, WordStream& sums,
                       WordStream& records, FactorStream& rows, WordStream& updated) {
  const std::uint32_t count = shape.num_entries * shape.words, last = shape.words - 1;
  RowFactors row = RowFactors();
  std::uint32_t k = 0;
apply_words:
  for (std::uint32_t i = 0; i < count; ++i) {
#pragma HLS pipeline
    if (shape.rule == kRowwiseAdagrad && k == 0) {
      row = rows.read();
      Word state(0);
      state[0] = row.accumulator;
      updated.write(state);
    }
    const Word sum = sums.read();
    Word weights = records.read(), first(0), second(0);
    if (shape.rule == kRowAdam) {
      first = records.read();
      second = records.read();
    }
    for (std::uint32_t lane = 0; lane < kWordValues; ++lane) {
#pragma HLS unroll
      if (k * kWordValues + lane >= shape.width) continue;
      if (shape.rule == kRowAdam) {
        const Moments old = {weights[lane], first[lane], second[lane]};
        const Moments now = adam(factors, sum[lane], old);
        weights[lane] = now.weight;
        first[lane] = now.first;
        second[lane] = now.second;
      } else if (shape.rule == kRowwiseAdagrad) {
        weights[lane] = adagrad(factors, shape.decay_mode, row, sum[lane], weights[lane]);
      } else {
        weights[lane] = sgd(factors, shape.decay_mode, sum[lane], weights[lane]);
      }
    }
    updated.write(weights);
    if (shape.rule == kRowAdam) {
      updated.write(first);
      updated.write(second);
    }
    k = k == last ? 0 : k + 1;
  }
}

// Writes the new records into the table and, without gaps, into the result.
inline void store_records(const Shape& shape, EntryStream& entries, WordStream& updated,
                          Word* table, Word* result) {
  const std::uint32_t count = shape.num_entries * shape.record, last = shape.record - 1;
  std::uint32_t first = 0, k = 0;
store_records:
  for (std::uint32_t i = 0; i < count; ++i) {
#pragma HLS pipeline II = 1
    if (k == 0) first = shape.table_word + entries.read().row * shape.record;
    const Word word = updated.read();
    table[first + k] = word;
    result[1 + i] = word;
    k = k == last ? 0 : k + 1;
  }
}

}  // namespace embedding_update
}  // namespace tandem
