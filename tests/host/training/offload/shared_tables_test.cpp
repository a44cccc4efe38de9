// SPDX-License-Identifier: Apache-2.0
//
// Tables of several ranks against one optimiser that gets all gradients.
#include "training/offload/shared_tables.h"

#include <gmock/gmock.h>

#include "host/collectives/api/groups.h"
#include "tables.h"

namespace tandem::training::test {
namespace {

using collectives::Group;
using collectives::test::Outcome;
using collectives::test::RankResult;
using collectives::test::run_groups;

// Multiples of 1/256: sums are exact in any order.
RandomRows exact_rows(std::uint32_t table, std::uint64_t step, int rank) {
  RandomRows rows(table, 31 * step + static_cast<std::uint64_t>(rank));
  std::mt19937 random(static_cast<unsigned>(7 * step) + static_cast<unsigned>(rank));
  for (float& value : rows.gradient) {
    value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 256;
  }
  return rows;
}

std::vector<Values> expected_weights(int world, std::uint64_t steps) {
  std::vector<Values> weights = first_weights();
  ThreadPool pool(1);
  CardTables tables({}, pool, {});
  add_tables(tables, weights);
  tables.load();
  for (std::uint64_t step = 1; step <= steps; ++step) {
    for (std::uint32_t table = 0; table < kTables.size(); ++table) {
      std::vector<std::uint32_t> rows;
      Values gradient;
      for (int rank = 0; rank < world; ++rank) {
        const RandomRows one = exact_rows(table, step, rank);
        rows.insert(rows.end(), one.rows.begin(), one.rows.end());
        gradient.insert(gradient.end(), one.gradient.begin(), one.gradient.end());
      }
      tables.update_rows(table_step(step), {table, rows, gradient});
    }
  }
  return weights;
}

void run_rank(Group* group, std::uint64_t steps, std::vector<Values>& weights,
              std::vector<StateView>& state, std::unique_ptr<SharedTables>& tables,
              ThreadPool& pool) {
  tables = std::make_unique<SharedTables>(group, std::vector<std::unique_ptr<device::TableUnit>>(),
                                          pool, CardTablesOptions());
  for (std::size_t i = 0; i < kTables.size(); ++i) {
    tables->add({kTables[i].name, kTables[i].width, kTables[i].rule, weights[i]});
  }
  tables->load();
  const int rank = group == nullptr ? 0 : group->rank();
  for (std::uint64_t step = 1; step <= steps; ++step) {
    std::vector<RandomRows> gradients;
    std::vector<CardRows> rows;
    for (std::uint32_t table = 0; table < kTables.size(); ++table) {
      gradients.push_back(exact_rows(table, step, rank));
    }
    for (std::uint32_t table = 0; table < kTables.size(); ++table) {
      rows.push_back({table, gradients[table].rows, gradients[table].gradient});
    }
    tables->sum(rows);
    tables->update(table_step(step));
  }
  state = tables->state();
}

TEST(SharedTables, RanksHaveTheBitsOfOneOptimizer) {
  for (const int world : {1, 2, 3}) {
    const std::vector<Values> expected = expected_weights(world, 3);
    const auto results = run_groups(world, [&](Group& group) {
      ThreadPool pool(1);
      std::unique_ptr<SharedTables> tables;
      std::vector<Values> weights = first_weights();
      std::vector<StateView> state;
      run_rank(&group, 3, weights, state, tables, pool);
      EXPECT_EQ(all_bits(weights, {}), all_bits(expected, {})) << world << " ranks";
    });
    for (const RankResult& result : results) EXPECT_EQ(result.text, "");
  }
}

TEST(SharedTables, ARankAloneNeedsNoGroup) {
  ThreadPool pool(1);
  std::unique_ptr<SharedTables> tables;
  std::vector<Values> weights = first_weights();
  std::vector<StateView> state;
  run_rank(nullptr, 2, weights, state, tables, pool);
  EXPECT_EQ(all_bits(weights, {}), all_bits(expected_weights(1, 2), {}));
}

TEST(SharedTables, StateIsHeldOnceAndSaysWhereItBegins) {
  std::vector<std::vector<std::pair<std::string, std::uint64_t>>> places(2);
  std::vector<std::uint64_t> values(2);
  run_groups(2, [&](Group& group) {
    ThreadPool pool(1);
    std::unique_ptr<SharedTables> tables;
    std::vector<Values> weights = first_weights();
    std::vector<StateView> state;
    run_rank(&group, 1, weights, state, tables, pool);
    const auto rank = static_cast<std::size_t>(group.rank());
    for (const StateView& view : state) {
      places[rank].emplace_back(view.name, view.first);
      values[rank] += view.values.size();
    }
  });
  using Place = std::pair<std::string, std::uint64_t>;
  EXPECT_THAT(places[1],
              testing::ElementsAre(Place("users/sum", 151), Place("items/exp_avg", 45 * 16),
                                   Place("items/exp_avg_sq", 45 * 16)));
  EXPECT_EQ(values[0] + values[1], 301u + 2 * 90 * 16 + 1);
}

// Tables of one width share their messages; some have fewer rows than there are ranks.
TEST(SharedTables, TablesOfOneWidthKeepTheirRowsApart) {
  const std::vector<std::size_t> sizes = {10, 1, 7, 2};
  const auto results = run_groups(3, [&](Group& group) {
    ThreadPool pool(1);
    SharedTables tables(&group, {}, pool, {});
    std::vector<Values> weights;
    for (const std::size_t rows : sizes) weights.emplace_back(rows * 2, 1.0f);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      tables.add({"t" + std::to_string(i), 2, Sgd{}, weights[i]});
    }
    tables.load();
    std::vector<std::vector<std::uint32_t>> rows(sizes.size());
    std::vector<Values> gradients(sizes.size());
    std::vector<CardRows> all;
    for (std::uint32_t i = 0; i < sizes.size(); ++i) {
      for (std::uint32_t row = 0; row < sizes[i]; ++row) rows[i].push_back(row);
      for (const std::uint32_t row : rows[i]) {
        gradients[i].insert(gradients[i].end(), 2, static_cast<float>(10 * i + row));
      }
      all.push_back({i, rows[i], gradients[i]});
    }
    tables.sum(all);
    tables.update({1, 1, 1.0 / 3});
    for (std::uint32_t i = 0; i < sizes.size(); ++i) {
      for (std::uint32_t row = 0; row < sizes[i]; ++row) {
        EXPECT_FLOAT_EQ(weights[i][2 * row + 1], 1 - static_cast<float>(10 * i + row));
      }
    }
  });
  for (const RankResult& result : results) EXPECT_EQ(result.text, "");
}

// Row 1: (1 + 2) + 7 = 10, of both ranks. Row 19: 3. The other table's row 4: 2 + 2.
TEST(SharedTables, TheNormIsOfTheSumsOverListsAndRanks) {
  const std::vector<std::vector<std::uint32_t>> rows = {{1, 1, 0}, {1, 19}};
  const std::vector<Values> gradients = {{1, 2, 0}, {7, 3}};
  const auto results = run_groups(2, [&](Group& group) {
    ThreadPool pool(1);
    SharedTables tables(&group, {}, pool, {});
    Values first(20), second(5);
    tables.add({"t", 1, Sgd{}, first});
    tables.add({"u", 1, Sgd{}, second});
    tables.load();
    const auto own = static_cast<std::size_t>(group.rank());
    const Values other = {2};
    const std::vector<std::uint32_t> last = {4};
    EXPECT_EQ(tables.sum({{0, rows[own], gradients[own]}, {1, last, other}}), 100.0 + 9.0 + 16.0);
  });
  for (const RankResult& result : results) EXPECT_EQ(result.text, "");
}

TEST(SharedTables, TheNormOfOneRankAddsRepeatedRowsFirst) {
  ThreadPool pool(1);
  SharedTables tables(nullptr, {}, pool, {});
  Values weights(20);
  tables.add({"t", 2, Sgd{}, weights});
  tables.load();
  const std::vector<std::uint32_t> rows = {3, 3, 9};
  const Values gradient = {1, 2, 3, -2, 5, 0};
  EXPECT_EQ(tables.sum({{0, rows, gradient}}), 16.0 + 25.0);
  tables.update({.iteration = 1, .learning_rate = 1});
  EXPECT_EQ(tables.statistics().host_gradients, 2u) << "they are added up once, by sum()";
  EXPECT_EQ((Values(weights.begin() + 6, weights.begin() + 8)), (Values{-4, 0}));
  EXPECT_THROW(tables.sum({{0, rows, std::span(gradient).first(5)}}), Error);
  EXPECT_THROW(tables.sum({{1, rows, gradient}}), Error);
}

TEST(SharedTables, AWrongRowOfOneRankIsAnErrorOfAll) {
  const auto results = run_groups(2, [&](Group& group) {
    ThreadPool pool(1);
    SharedTables tables(&group, {}, pool, {});
    Values weights(20), gradient(4);
    tables.add({"t", 4, RowwiseAdagrad{}, weights});
    tables.load();
    const std::vector<std::uint32_t> row = {group.rank() == 0 ? 1u : 5u};
    tables.sum({{0, row, gradient}});
  });
  for (const RankResult& result : results) {
    EXPECT_EQ(result.outcome, Outcome::kError);
    EXPECT_THAT(result.text, testing::HasSubstr("rank 1"));
  }
}

}  // namespace
}  // namespace tandem::training::test
