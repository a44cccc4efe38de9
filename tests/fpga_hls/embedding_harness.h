// SPDX-License-Identifier: Apache-2.0
//
// Calls the embedding_update kernel as a C++ function: packs tables and inputs by the text of abi.h
// (independently of the driver) and unpacks results. Everything is public so that tests can break
// it.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "embedding_update/stages.h"
#include "training/optimizer/rules.h"

extern "C" void embedding_update(const tandem::embedding_update::Word* input,
                                 const tandem::embedding_update::Word* table_in,
                                 tandem::embedding_update::Word* table_out,
                                 tandem::embedding_update::Word* result, std::uint32_t input_words,
                                 std::uint32_t table_words, std::uint32_t result_words);

namespace tandem::embedding_update {

using Values = std::vector<float>;

constexpr std::uint32_t kGuard = 0x5a5aa5a5u;

inline std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

// A rule with the factors of a step, as the kernel takes them.
struct Step {
  std::uint32_t rule = kSgd, decay_mode = kNoDecay;
  Word factors = Word(0);
};

inline Step step_of(const training::SgdFactors& f) {
  Step step{kSgd, f.decay == 0 ? std::uint32_t{kNoDecay} : std::uint32_t{kL2}, Word(0)};
  step.factors[kScale] = bits(f.scale);
  step.factors[kRate] = bits(f.rate);
  step.factors[kDecay] = bits(f.decay);
  return step;
}

inline Step step_of(const training::AdagradFactors& f, std::uint32_t width) {
  Step step{kRowwiseAdagrad, f.mode, Word(0)};
  step.factors[kScale] = bits(f.scale);
  step.factors[kRate] = bits(f.rate);
  step.factors[kDecay] = bits(f.decay);
  step.factors[kEpsilon] = bits(f.epsilon);
  step.factors[kWidth] = bits(static_cast<float>(width));
  return step;
}

inline Step step_of(const training::RowAdamFactors& f) {
  Step step{kRowAdam, kNoDecay, Word(0)};
  const std::pair<Factor, float> all[] = {
      {kScale, f.scale},       {kRate, f.rate},        {kDecay, f.decay}, {kEpsilon, f.epsilon},
      {kBeta1, f.beta1},       {kRest1, f.rest1},      {kBeta2, f.beta2}, {kRest2, f.rest2},
      {kCorrect1, f.correct1}, {kCorrect2, f.correct2}};
  for (const auto& [place, value] : all) step.factors[place] = bits(value);
  return step;
}

// Of one row; first: one value for kRowwiseAdagrad.
struct Row {
  Values weights, first, second;
};

inline std::vector<Word> pack_record(std::uint32_t rule, std::uint32_t width, const Row& row) {
  std::vector<Word> record(record_words(rule, width), Word(0));
  if (rule == kRowwiseAdagrad) record[0][0] = bits(row.first[0]);
  for (std::uint32_t i = 0; i < width; ++i) {
    const std::uint32_t word = i / kWordValues, lane = i % kWordValues;
    if (rule == kSgd) record[word][lane] = bits(row.weights[i]);
    if (rule == kRowwiseAdagrad) record[1 + word][lane] = bits(row.weights[i]);
    if (rule != kRowAdam) continue;
    record[3 * word][lane] = bits(row.weights[i]);
    record[3 * word + 1][lane] = bits(row.first[i]);
    record[3 * word + 2][lane] = bits(row.second[i]);
  }
  return record;
}

// An input under construction; `words` is what the kernel reads.
struct Input {
  InputHeader header{};
  std::vector<RowEntry> entries;
  std::vector<Word> words;

  void put() {
    std::memcpy(static_cast<void*>(words.data()), &header, sizeof(header));
    if (entries.empty()) return;
    std::memcpy(static_cast<void*>(&words[2]), entries.data(), entries.size() * sizeof(RowEntry));
  }
};

// gradients: [entry][input] a row each.
inline Input make_input(const Step& step, std::uint32_t width, std::uint32_t table_rows,
                        const std::vector<std::uint32_t>& rows,
                        const std::vector<std::vector<Values>>& gradients) {
  Input input;
  InputHeader& h = input.header;
  input.words = {Word(0), step.factors};
  h.rows_word = 2;
  input.words.resize(2 + entry_words(static_cast<std::uint32_t>(rows.size())), Word(0xdeadbeefu));
  h.gradients_word = static_cast<std::uint32_t>(input.words.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    input.entries.push_back({rows[i], static_cast<std::uint32_t>(gradients[i].size())});
    for (const Values& gradient : gradients[i]) {
      const auto record = pack_record(kSgd, width, {gradient, {}, {}});
      input.words.insert(input.words.end(), record.begin(), record.end());
      ++h.num_inputs;
    }
  }
  h.magic = kMagic;
  h.abi_version = kAbiVersion;
  h.num_words = static_cast<std::uint32_t>(input.words.size());
  h.rule = step.rule;
  h.decay_mode = step.decay_mode;
  h.width = width;
  h.num_table_rows = table_rows;
  h.num_entries = static_cast<std::uint32_t>(rows.size());
  h.tag = 77;
  input.put();
  return input;
}

struct Answer {
  ResultHeader header{};
  std::vector<Word> words;  // with a guard word behind the result
};

inline Answer run(const Input& input, std::vector<Word>& table, std::uint32_t result_words) {
  Answer answer;
  answer.words.assign(result_words + 1, Word(kGuard));
  ::embedding_update(input.words.data(), table.data(), table.data(), answer.words.data(),
                     static_cast<std::uint32_t>(input.words.size()),
                     static_cast<std::uint32_t>(table.size()), result_words);
  std::memcpy(&answer.header, answer.words.data(), sizeof(answer.header));
  return answer;
}

inline Answer run(const Input& input, std::vector<Word>& table) {
  return run(input, table,
             static_cast<std::uint32_t>(
                 result_words(input.header.rule, input.header.width, input.header.num_entries)));
}

}  // namespace tandem::embedding_update
