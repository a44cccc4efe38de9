// SPDX-License-Identifier: Apache-2.0
//
// The embedding_update kernel against the optimiser's scalar loops, bit for bit; bad inputs; the
// cycles it counts.
#include <gtest/gtest.h>

#include <functional>

#include "embedding_harness.h"
#include "host/training/optimizer/reference.h"

namespace tandem::embedding_update {
namespace {

using training::test::random_values;

constexpr training::StepFactors kStep = {3, 0.05, 0.5};

// The rules in all forms, each with its reference.
struct Case {
  std::function<Step(std::uint32_t width)> step;
  std::function<void(Row&, const Values&)> apply;
};

Case sgd_case(double decay) {
  const auto f = factors_of(training::Sgd{.weight_decay = decay}, kStep);
  return {[f](std::uint32_t) { return step_of(f); },
          [f](Row& row, const Values& g) { training::test::reference(f, row.weights, g, {}); }};
}
Case adagrad_case(double decay, training::Decay mode) {
  const auto f = factors_of(training::RowwiseAdagrad{.weight_decay = decay, .decay = mode}, kStep);
  return {[f](std::uint32_t width) { return step_of(f, width); },
          [f](Row& row, const Values& g) {
            training::test::reference(f, row.weights, g, row.first[0]);
          }};
}
Case adam_case(double decay) {
  const auto f = factors_of(training::RowAdam{.weight_decay = decay}, kStep);
  return {[f](std::uint32_t) { return step_of(f); },
          [f](Row& row, const Values& g) {
            training::test::reference(f, row.weights, g, row.first, row.second);
          }};
}

std::vector<Case> all_cases() {
  return {sgd_case(0),
          sgd_case(0.1),
          adagrad_case(0, training::Decay::kL2),
          adagrad_case(0.1, training::Decay::kL2),
          adagrad_case(0.1, training::Decay::kDecoupled),
          adam_case(0),
          adam_case(0.1)};
}

// A table with random weights and state, and its words.
struct Table {
  std::uint32_t rule, width;
  std::vector<Row> rows;

  Table(std::uint32_t rule_of_table, std::uint32_t row_width, std::size_t num_rows)
      : rule(rule_of_table), width(row_width) {
    for (std::size_t i = 0; i < num_rows; ++i) {
      Row row{random_values(width, i), random_values(width, 100 + i),
              random_values(width, 200 + i)};
      for (float& value : row.second) value = std::fabs(value);
      if (rule == kRowwiseAdagrad) row.first = {std::fabs(row.second[0])};
      rows.push_back(row);
    }
  }

  std::vector<Word> words() const {
    std::vector<Word> all;
    for (const Row& row : rows) {
      const auto record = pack_record(rule, width, row);
      all.insert(all.end(), record.begin(), record.end());
    }
    return all;
  }
};

std::uint32_t canonical(std::uint32_t value) {
  return exact_f32::is_nan(value) ? 0x7fc00000u : value;
}

void expect_words(const Word* got, const std::vector<Word>& expected, const std::string& what) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::uint32_t lane = 0; lane < kWordValues; ++lane) {
      ASSERT_EQ(canonical(got[i][lane]), canonical(expected[i][lane]))
          << what << ", word " << i << ", lane " << lane;
    }
  }
}

Values sum_of(const std::vector<Values>& inputs) {
  Values sum = inputs[0];
  for (std::size_t k = 1; k < inputs.size(); ++k) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += inputs[k][i];
  }
  return sum;
}

const std::vector<std::uint32_t> kRows = {0, 3, 4, 9};
const std::vector<std::size_t> kCounts = {1, 3, 1, 2};

std::vector<std::vector<Values>> random_gradients(std::uint32_t width) {
  std::vector<std::vector<Values>> gradients(kRows.size());
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    for (std::size_t k = 0; k < kCounts[i]; ++k) {
      gradients[i].push_back(random_values(width, 1000 + 10 * i + k));
    }
  }
  return gradients;
}

TEST(EmbeddingUpdate, EveryRuleHasTheBitsOfTheScalarLoop) {
  const auto cases = all_cases();
  for (std::size_t c = 0; c < cases.size(); ++c) {
    for (const std::uint32_t width : {1u, 15u, 16u, 17u, 64u, 100u}) {
      SCOPED_TRACE(testing::Message() << "case " << c << ", width " << width);
      const Step step = cases[c].step(width);
      Table table(step.rule, width, 10);
      std::vector<Word> words = table.words();
      const auto gradients = random_gradients(width);
      const Answer answer = run(make_input(step, width, 10, kRows, gradients), words);
      ASSERT_EQ(answer.header.status, kOk);
      EXPECT_EQ(answer.header.tag, 77u);
      const std::uint32_t record = record_words(step.rule, width);
      EXPECT_EQ(answer.header.num_words, 1 + 4 * record);
      for (std::size_t i = 0; i < kRows.size(); ++i) {
        cases[c].apply(table.rows[kRows[i]], sum_of(gradients[i]));
        expect_words(&answer.words[1 + i * record],
                     pack_record(step.rule, width, table.rows[kRows[i]]), "result");
      }
      expect_words(words.data(), table.words(), "table");
      EXPECT_EQ(answer.words.back()[0], kGuard);
    }
  }
}

TEST(EmbeddingUpdate, WideRowsFitItsBuffers) {
  const Step step = adagrad_case(0.1, training::Decay::kL2).step(kMaxWidth);
  Table table(step.rule, kMaxWidth, 2);
  std::vector<Word> words = table.words();
  const std::vector<std::vector<Values>> gradients = {
      {random_values(kMaxWidth, 1), random_values(kMaxWidth, 2)}};
  ASSERT_EQ(run(make_input(step, kMaxWidth, 2, {1}, gradients), words).header.status, kOk);
  adagrad_case(0.1, training::Decay::kL2).apply(table.rows[1], sum_of(gradients[0]));
  expect_words(words.data(), table.words(), "table");
}

TEST(EmbeddingUpdate, ATableMayBeginAnywhere) {
  const Step step = sgd_case(0).step(20);
  const Table table(step.rule, 20, 10);
  std::vector<Word> words(7, Word(kGuard));
  for (const Word& word : table.words()) words.push_back(word);
  const std::vector<Word> before = words;
  Input input = make_input(step, 20, 10, {9}, {{random_values(20, 5)}});
  input.header.table_word = 7;
  input.put();
  ASSERT_EQ(run(input, words).header.status, kOk);
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(words[i] == before[i], i < words.size() - 2) << i;
  }
}

TEST(EmbeddingUpdate, NothingToDoIsDone) {
  std::vector<Word> words = Table(kSgd, 16, 2).words();
  const Answer answer = run(make_input(sgd_case(0).step(16), 16, 2, {}, {}), words);
  EXPECT_EQ(answer.header.status, kOk);
  EXPECT_EQ(answer.header.num_words, 1u);
}

struct Bad {
  std::uint32_t status, detail;
  std::function<void(Input&)> damage;
};

std::vector<Bad> bad_inputs() {
  return {
      {kBadMagic, 1, [](Input& in) { in.header.magic = 1; }},
      {kBadVersion, 9, [](Input& in) { in.header.abi_version = 9; }},
      {kBadShape, 0, [](Input& in) { in.header.rule = 3; }},
      {kBadShape, 0, [](Input& in) { in.header.decay_mode = kDecoupled; }},
      {kBadShape, 0, [](Input& in) { in.header.width = 0; }},
      {kBadShape, 0, [](Input& in) { in.header.width = kMaxWidth + 1; }},
      {kBadShape, 0, [](Input& in) { in.header.num_entries = 11; }},
      {kBadSection, 0, [](Input& in) { ++in.header.num_words; }},
      {kBadSection, 1, [](Input& in) { in.header.rows_word = 0xffffffffu; }},
      {kBadSection, 1, [](Input& in) { in.header.gradients_word = 0xffffffffu; }},
      {kBadSection, 1, [](Input& in) { ++in.header.num_inputs; }},
      {kBadSection, 1, [](Input& in) { in.header.table_word = 1; }},
      {kBadSection, 1, [](Input& in) { in.header.num_table_rows = 0x40000000u; }},
      {kBadRow, 1, [](Input& in) { in.entries[1].row = 0; }},
      {kBadRow, 3, [](Input& in) { in.entries[3].row = 10; }},
      {kBadCount, 2, [](Input& in) { in.entries[2].count = 0; }},
      {kBadCount, 2, [](Input& in) { in.entries[2].count = 0xffffffffu; }},
      {kBadCount, 4, [](Input& in) { in.entries[2].count = 2; }},
  };
}

TEST(EmbeddingUpdate, ABadInputIsNamedAndTheTableStays) {
  const std::vector<Bad> all = bad_inputs();
  const Step step = sgd_case(0).step(20);
  const std::vector<Word> before = Table(kSgd, 20, 10).words();
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    Input input = make_input(step, 20, 10, kRows, random_gradients(20));
    all[i].damage(input);
    input.put();
    std::vector<Word> words = before;
    const Answer answer = run(input, words, 100);
    EXPECT_EQ(answer.header.status, all[i].status);
    EXPECT_EQ(answer.header.detail, all[i].detail);
    EXPECT_EQ(answer.header.num_words, 1u);
    EXPECT_TRUE(words == before);
  }
  Input input = make_input(step, 20, 10, kRows, random_gradients(20));
  std::vector<Word> words = before;
  EXPECT_EQ(run(input, words, 8).header.status, kBadResult);  // 1 + 4 * 2 words
  EXPECT_TRUE(words == before);
}

// The counters from the input alone.
TEST(EmbeddingUpdate, TheCyclesAreThoseOfTheModel) {
  const std::uint32_t width = 100, words_of_row = 7;
  for (const Case& one : all_cases()) {
    const Step step = one.step(width);
    std::vector<Word> words = Table(step.rule, width, 10).words();
    const Answer answer = run(make_input(step, width, 10, kRows, random_gradients(width)), words);
    const std::uint32_t record = record_words(step.rule, width);
    EXPECT_EQ(answer.header.gradient_words, 7 * words_of_row);
    EXPECT_EQ(answer.header.record_words, 4 * record);
    EXPECT_EQ(answer.header.sum_cycles, 7 * (words_of_row + kInputCycles) + 4 * kRowCycles);
    EXPECT_EQ(answer.header.measure_cycles, 4 * words_of_row * kAddCycles);
    EXPECT_GE(modelled_cycles(4, answer.header), kStartCycles + 4 + answer.header.measure_cycles);
  }
  // Records of one channel are read and written.
  ResultHeader header{};
  header.record_words = 4400;
  EXPECT_EQ(modelled_cycles(100, header), kStartCycles + 100 + 2 * 4400 * 64 / 44);
  header.sum_cycles = 20000;
  EXPECT_EQ(modelled_cycles(100, header), kStartCycles + 100 + 20000);
}

}  // namespace
}  // namespace tandem::embedding_update
