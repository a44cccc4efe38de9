// SPDX-License-Identifier: Apache-2.0
//
// Tables of every rule, random updates of their rows, and the same by an Optimizer: what tests of
// tables on cards compare with.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "../optimizer/reference.h"
#include "training/offload/card_tables.h"

namespace tandem::training::test {

struct TableCase {
  std::string name;
  std::size_t rows;
  std::uint32_t width;
  UpdateRule rule;
};

inline const std::vector<TableCase> kTables = {
    {"users", 301, 20, RowwiseAdagrad{.weight_decay = 0.1, .initial_sum = 0.01}},
    {"items", 90, 16, RowAdam{.weight_decay = 0.05}},
    {"words", 57, 3, Sgd{.weight_decay = 0.1}},
    {"few", 1, 33, RowwiseAdagrad{.weight_decay = 0.1, .decay = Decay::kDecoupled}},
};

struct RandomRows {
  std::vector<std::uint32_t> rows;
  Values gradient;

  RandomRows(std::uint32_t table, std::uint64_t step) {
    std::mt19937_64 random(100 * step + table);
    rows.resize(random() % 60);
    for (std::uint32_t& row : rows) {
      row = static_cast<std::uint32_t>(random() % kTables[table].rows);
    }
    gradient = random_values(rows.size() * kTables[table].width, random());
  }
};

inline std::vector<Values> first_weights() {
  std::vector<Values> weights;
  for (std::size_t i = 0; i < kTables.size(); ++i) {
    weights.push_back(random_values(kTables[i].rows * kTables[i].width, i));
  }
  return weights;
}

inline void add_tables(CardTables& tables, std::vector<Values>& weights) {
  for (std::size_t i = 0; i < kTables.size(); ++i) {
    tables.add({.name = kTables[i].name,
                .width = kTables[i].width,
                .rule = kTables[i].rule,
                .weights = weights[i]});
  }
}

inline StepFactors table_step(std::uint64_t step) { return {step, 0.05, 0.5}; }

inline void update_all(CardTables& tables, std::uint64_t step) {
  for (std::uint32_t table = 0; table < kTables.size(); ++table) {
    const RandomRows rows(table, step);
    tables.update_rows(table_step(step),
                       {.table = table, .rows = rows.rows, .gradient = rows.gradient});
  }
}

// Weights and state, in order.
using Bits = std::vector<std::vector<std::uint32_t>>;

inline Bits all_bits(const std::vector<Values>& weights, const std::vector<StateView>& state) {
  Bits bits;
  for (const Values& one : weights) bits.push_back(bits_of(one));
  for (const StateView& view : state) bits.push_back(bits_of(view.values));
  return bits;
}

inline Bits expected_tables(std::uint64_t steps) {
  std::vector<Values> weights = first_weights();
  ThreadPool pool(1);
  Optimizer optimizer(pool);
  for (std::size_t i = 0; i < kTables.size(); ++i) {
    optimizer.add({.name = kTables[i].name,
                   .count = weights[i].size(),
                   .width = kTables[i].width,
                   .rule = kTables[i].rule});
  }
  for (std::uint64_t step = 1; step <= steps; ++step) {
    for (std::uint32_t table = 0; table < kTables.size(); ++table) {
      const RandomRows rows(table, step);
      optimizer.update_rows(table_step(step), {.parameter = table,
                                               .rows = rows.rows,
                                               .gradient = rows.gradient,
                                               .weights = weights[table],
                                               .copy = {}});
    }
  }
  return all_bits(weights, optimizer.state());
}

}  // namespace tandem::training::test
