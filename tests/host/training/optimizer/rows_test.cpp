// SPDX-License-Identifier: Apache-2.0
//
// Updates of rows of a table: sums of repeated rows, decay, untouched rows, owned ranges.
#include <gmock/gmock.h>

#include "reference.h"
#include "tensor/dtype.h"
#include "training/optimizer/optimizer.h"

namespace tandem::training::test {
namespace {

using Rows = std::vector<std::uint32_t>;

constexpr StepFactors kStep = {3, 0.05, 0.5};

struct Table {
  std::size_t num_rows;
  std::uint32_t width;
  Values weights = random_values(num_rows * width, 7);
};

// The weights after one update of `rows` in the owned rows [first, end), and the state.
struct Updated {
  Values weights;
  Values first, second;
};
Updated update_table(const Table& table, const UpdateRule& rule, const Rows& rows,
                     const Values& gradient, int threads = 1) {
  ThreadPool pool(threads);
  Optimizer optimizer(pool);
  const auto parameter = optimizer.add(
      {.name = "table", .count = table.num_rows * table.width, .width = table.width, .rule = rule});
  Updated result{table.weights, {}, {}};
  optimizer.update_rows(
      kStep,
      {.parameter = parameter, .rows = rows, .gradient = gradient, .weights = result.weights});
  const auto state = optimizer.state();
  if (!state.empty()) result.first.assign(state[0].values.begin(), state[0].values.end());
  if (state.size() > 1) result.second.assign(state[1].values.begin(), state[1].values.end());
  return result;
}

// Gradients of one row summed in the order of the list.
std::vector<std::pair<std::uint32_t, Values>> summed(const Rows& rows, const Values& gradient,
                                                     std::size_t width) {
  std::vector<std::pair<std::uint32_t, Values>> sums;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto begin = gradient.begin() + static_cast<std::ptrdiff_t>(i * width);
    const auto known = std::ranges::find(sums, rows[i], [](const auto& sum) { return sum.first; });
    if (known == sums.end()) {
      sums.emplace_back(rows[i], Values(begin, begin + static_cast<std::ptrdiff_t>(width)));
      continue;
    }
    for (std::size_t k = 0; k < width; ++k) known->second[k] += begin[static_cast<long>(k)];
  }
  return sums;
}

Updated expect_table(const Table& table, const UpdateRule& rule, const Rows& rows,
                     const Values& gradient) {
  Updated result{table.weights, {}, {}};
  const bool by_row = std::holds_alternative<RowwiseAdagrad>(rule);
  const auto slots = state_slots(rule);
  if (!slots.empty()) {
    result.first.assign(by_row ? table.num_rows : table.weights.size(), slots[0].initial);
  }
  if (slots.size() > 1) result.second.assign(table.weights.size(), 0);
  for (const auto& [row, sum] : summed(rows, gradient, table.width)) {
    const auto part = [&, row = row](Values& values) {
      return std::span(values).subspan(row * table.width, table.width);
    };
    if (const auto* adagrad = std::get_if<RowwiseAdagrad>(&rule)) {
      reference(factors_of(*adagrad, kStep), part(result.weights), sum, result.first[row]);
    } else if (const auto* adam = std::get_if<RowAdam>(&rule)) {
      reference(factors_of(*adam, kStep), part(result.weights), sum, part(result.first),
                part(result.second));
    } else {
      reference(factors_of(std::get<Sgd>(rule), kStep), part(result.weights), sum, {});
    }
  }
  return result;
}

const std::vector<UpdateRule> kRowRules = {
    Sgd{},
    Sgd{.weight_decay = 0.1},
    RowwiseAdagrad{},
    RowwiseAdagrad{.weight_decay = 0.1, .initial_sum = 0.25},
    RowwiseAdagrad{.weight_decay = 0.1, .decay = Decay::kDecoupled},
    RowAdam{},
    RowAdam{.weight_decay = 0.1},
};

TEST(OptimizerRows, EveryRuleHasTheBitsOfTheScalarLoopAndSumsRepeatedRowsFirst) {
  for (const std::uint32_t width : {1u, 3u, 16u, 64u, 100u}) {
    const Table table{50, width};
    const Rows rows = {7, 3, 7, 49, 0, 3, 7};
    const Values gradient = random_values(rows.size() * width, 9);
    for (std::size_t i = 0; i < kRowRules.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "width " << width << ", rule " << i);
      const Updated got = update_table(table, kRowRules[i], rows, gradient);
      const Updated expected = expect_table(table, kRowRules[i], rows, gradient);
      EXPECT_EQ(bits_of(got.weights), bits_of(expected.weights));
      EXPECT_EQ(bits_of(got.first), bits_of(expected.first));
      EXPECT_EQ(bits_of(got.second), bits_of(expected.second));
    }
  }
}

TEST(OptimizerRows, RepeatedRowsInOrderAreSummedToo) {
  const Table table{50, 3};
  const Rows rows = {3, 3, 7};
  const Values gradient = random_values(rows.size() * 3, 9);
  for (const UpdateRule& rule : kRowRules) {
    EXPECT_EQ(bits_of(update_table(table, rule, rows, gradient).weights),
              bits_of(expect_table(table, rule, rows, gradient).weights));
  }
}

TEST(OptimizerRows, ManyRowsOnThreadsHaveTheSameBits) {
  const Table table{5000, 33};
  std::mt19937 random(5);
  Rows rows(8000);
  for (std::uint32_t& row : rows) row = random() % 5000;
  const Values gradient = random_values(rows.size() * 33, 2);
  const UpdateRule rule = RowAdam{.weight_decay = 0.1};
  EXPECT_EQ(bits_of(update_table(table, rule, rows, gradient, 3).weights),
            bits_of(expect_table(table, rule, rows, gradient).weights));
}

TEST(OptimizerRows, RowsWithoutAGradientStayAsTheyAre) {
  const Table table{20, 4};
  for (const UpdateRule& rule : kRowRules) {
    const Updated got = update_table(table, rule, {5}, Values(4, 1.0f));
    for (std::size_t i = 0; i < got.weights.size(); ++i) {
      if (i / 4 == 5) continue;
      EXPECT_EQ(got.weights[i], table.weights[i]) << i;
    }
  }
  EXPECT_EQ(bits_of(update_table(table, RowAdam{}, {}, {}).weights), bits_of(table.weights));
}

TEST(OptimizerRows, AWholeRangeOfRowsEqualsAllRows) {
  const Table table{30, 20};
  const Values gradient = random_values(600, 3);
  Rows rows(30);
  for (std::uint32_t i = 0; i < 30; ++i) rows[i] = i;
  for (const UpdateRule& rule : kRowRules) {
    ThreadPool pool(2);
    Optimizer optimizer(pool);
    const auto parameter =
        optimizer.add({.name = "table", .count = 600, .width = 20, .rule = rule});
    Values weights = table.weights;
    optimizer.update(kStep, {.parameter = parameter, .weights = weights, .gradient = gradient});
    EXPECT_EQ(bits_of(weights), bits_of(update_table(table, rule, rows, gradient).weights));
  }
}

TEST(OptimizerRows, AnOwnerUpdatesItsRowsAndTheirCopy) {
  const Table table{10, 4};
  const Values gradient = random_values(8, 3);
  ThreadPool pool(1);
  Optimizer optimizer(pool);
  const auto parameter = optimizer.add({.name = "table",
                                        .count = 40,
                                        .width = 4,
                                        .rule = RowwiseAdagrad{},
                                        .owned_first = 20,
                                        .owned_count = 20});
  Values weights(table.weights.begin() + 20, table.weights.end());
  std::vector<std::uint16_t> copy(20, 1);
  optimizer.update_rows(kStep, {.parameter = parameter,
                                .rows = Rows{9, 6},
                                .gradient = gradient,
                                .weights = weights,
                                .copy = copy});
  const Updated whole = update_table(table, RowwiseAdagrad{}, {9, 6}, gradient);
  EXPECT_EQ(bits_of(weights), bits_of(std::span(whole.weights).subspan(20)));
  EXPECT_EQ(optimizer.state()[0].first, 5u);
  EXPECT_EQ(bits_of(optimizer.state()[0].values), bits_of(std::span(whole.first).subspan(5)));
  for (std::size_t i = 0; i < 20; ++i) {
    const bool touched = i / 4 == 1 || i / 4 == 4;
    EXPECT_EQ(copy[i], touched ? f32_to_bf16(weights[i]) : 1) << i;
  }
}

}  // namespace
}  // namespace tandem::training::test
