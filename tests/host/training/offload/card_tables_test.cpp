// SPDX-License-Identifier: Apache-2.0
//
// Tables over cards that are played here: division of rows, loss of cards at every moment, errors.
#include "training/offload/card_tables.h"

#include <gmock/gmock.h>

#include <functional>

#include "common/error.h"
#include "tables.h"

namespace tandem::training::test {
namespace {

// Keeps its own copy of the tables, and has an Optimizer for them.
class PlayedCard final : public device::TableUnit {
 public:
  struct Plan {
    std::uint64_t memory_bytes = 1 << 20;
    int fails_at = -1;  // the number of the update
  };
  struct Log {
    int updates = 0;
    std::size_t largest_table = 0;
  };

  PlayedCard(std::string name, Plan plan, Log& log) : name_(name), plan_(plan), log_(log) {}

  std::string name() const override { return name_; }

  void load(std::span<const device::TableShape> shapes, std::span<const device::TableArrays> arrays,
            Deadline) override {
    shapes_.assign(shapes.begin(), shapes.end());
    copies_.clear();
    std::uint64_t bytes = 0;
    for (const device::TableArrays& array : arrays) {
      copies_.push_back({copy(array.weights), copy(array.first), copy(array.second)});
      for (const Values& values : copies_.back()) bytes += 4 * values.size();
      log_.largest_table = std::max(log_.largest_table, array.weights.size());
    }
    if (bytes > plan_.memory_bytes) {
      throw Error("test", "needs " + std::to_string(bytes) + " bytes, has " +
                              std::to_string(plan_.memory_bytes));
    }
  }

  device::TableReport update(const device::TableUpdate& update, const device::TableArrays& arrays,
                             Deadline) override {
    if (log_.updates++ == plan_.fails_at) throw DeviceError("test", "the card burns");
    const device::TableShape& shape = shapes_[update.table];
    std::vector<std::uint32_t> rows(update.rows.begin(), update.rows.end());
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    for (const std::uint32_t row : rows) update_row(update, shape, row, arrays);
    return {rows.size(), 1e-6};
  }

 private:
  static Values copy(std::span<const float> values) { return {values.begin(), values.end()}; }

  void update_row(const device::TableUpdate& update, const device::TableShape& shape,
                  std::uint32_t row, const device::TableArrays& arrays) {
    Values sum;
    for (std::size_t i = 0; i < update.rows.size(); ++i) {
      if (update.rows[i] != row) continue;
      const auto one = update.gradients.subspan(i * shape.width, shape.width);
      if (sum.empty()) {
        sum.assign(one.begin(), one.end());
      } else {
        for (std::size_t k = 0; k < one.size(); ++k) sum[k] += one[k];
      }
    }
    auto& [weights, first, second] = copies_[update.table];
    const auto part = [&](Values& values) {
      return std::span(values).subspan(std::size_t{row} * shape.width, shape.width);
    };
    const device::TableFactors& f = update.factors;
    if (shape.rule == device::TableRule::kSgd) {
      reference(SgdFactors{f.scale, f.rate, 0, f.decay, false}, part(weights), sum, {});
    } else if (shape.rule == device::TableRule::kRowwiseAdagrad) {
      const auto mode = static_cast<AdagradFactors::Mode>(f.decay_mode);
      reference(AdagradFactors{f.scale, f.rate, f.epsilon, f.decay, mode}, part(weights), sum,
                first[row]);
      arrays.first[row] = first[row];
    } else {
      reference(RowAdamFactors{f.scale, f.beta1, f.rest1, f.beta2, f.rest2, f.correct1, f.correct2,
                               f.epsilon, f.rate, f.decay},
                part(weights), sum, part(first), part(second));
      std::ranges::copy(part(first), arrays.first.begin() + row * shape.width);
      std::ranges::copy(part(second), arrays.second.begin() + row * shape.width);
    }
    std::ranges::copy(part(weights), arrays.weights.begin() + row * shape.width);
  }

  const std::string name_;
  const Plan plan_;
  Log& log_;
  std::vector<device::TableShape> shapes_;
  std::vector<std::array<Values, 3>> copies_;
};

struct CardOutcome {
  Bits bits;
  CardTablesStatistics statistics;
  std::vector<PlayedCard::Log> logs;
};

CardOutcome run(const std::vector<PlayedCard::Plan>& plans, std::uint64_t steps) {
  CardOutcome outcome;
  outcome.logs.resize(plans.size());
  std::vector<std::unique_ptr<device::TableUnit>> cards;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    cards.push_back(
        std::make_unique<PlayedCard>("card:" + std::to_string(i), plans[i], outcome.logs[i]));
  }
  ThreadPool pool(2);
  std::vector<Values> weights = first_weights();
  CardTables tables(std::move(cards), pool, {});
  add_tables(tables, weights);
  tables.load();
  for (std::uint64_t step = 1; step <= steps; ++step) update_all(tables, step);
  outcome.bits = all_bits(weights, tables.state());
  outcome.statistics = tables.statistics();
  return outcome;
}

TEST(CardTables, AnyNumberOfCardsGivesTheBitsOfTheOptimizer) {
  const Bits expected = expected_tables(4);
  for (const std::size_t cards : {0u, 1u, 2u, 3u}) {
    const CardOutcome outcome = run(std::vector<PlayedCard::Plan>(cards), 4);
    EXPECT_EQ(outcome.bits, expected) << cards << " cards";
    EXPECT_EQ(outcome.statistics.host_gradients > 0, cards == 0);
    for (const CardStatistics& card : outcome.statistics.cards) EXPECT_EQ(card.lost, "");
  }
}

TEST(CardTables, CardsDivideTheRows) {
  const CardOutcome outcome = run(std::vector<PlayedCard::Plan>(2), 4);
  for (const PlayedCard::Log& log : outcome.logs) EXPECT_LE(log.largest_table, 151u * 20);
  for (const CardStatistics& card : outcome.statistics.cards) {
    EXPECT_GT(card.updated_rows, 0u);
    EXPECT_GT(card.modelled_seconds, 0);
  }
}

TEST(CardTables, TheHostAndCardsTakeTurns) {
  std::vector<PlayedCard::Log> logs(2);
  std::vector<std::unique_ptr<device::TableUnit>> cards;
  for (PlayedCard::Log& log : logs) {
    cards.push_back(std::make_unique<PlayedCard>("card", PlayedCard::Plan(), log));
  }
  ThreadPool pool(2);
  std::vector<Values> weights = first_weights();
  CardTables tables({}, pool, {});
  add_tables(tables, weights);
  tables.load();
  EXPECT_EQ(logs[0].largest_table, 0u);  // nothing was sent
  update_all(tables, 1);
  EXPECT_EQ(logs[0].updates + logs[1].updates, 0);
  tables.set_cards(std::move(cards));
  tables.load();
  update_all(tables, 2);
  const int updates = logs[0].updates + logs[1].updates;
  EXPECT_GT(updates, 0);
  tables.set_cards({});
  EXPECT_TRUE(tables.statistics().cards.empty());
  update_all(tables, 3);
  EXPECT_EQ(logs[0].updates + logs[1].updates, updates);
  EXPECT_EQ(all_bits(weights, tables.state()), expected_tables(3));
}

TEST(CardTables, ACardThatFailsAtAnyMomentChangesNoBit) {
  const Bits expected = expected_tables(3);
  for (int fails_at = 0; fails_at < 9; ++fails_at) {
    std::vector<PlayedCard::Plan> plans(2);
    plans[1].fails_at = fails_at;
    const CardOutcome outcome = run(plans, 3);
    EXPECT_EQ(outcome.bits, expected) << "update " << fails_at;
    EXPECT_THAT(outcome.statistics.cards[1].lost, testing::HasSubstr("burns"));
    EXPECT_EQ(outcome.logs[1].updates, fails_at + 1) << "a lost card is not used again";
    EXPECT_GT(outcome.statistics.host_gradients, 0u);
  }
  std::vector<PlayedCard::Plan> both(2);
  both[0].fails_at = 2;
  both[1].fails_at = 0;
  EXPECT_EQ(run(both, 3).bits, expected);
}

TEST(CardTables, WhatDoesNotFitIsRefused) {
  using testing::HasSubstr;
  const auto text_of = [](const std::function<void()>& body) -> std::string {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  std::vector<PlayedCard::Plan> small(1);
  small[0].memory_bytes = 1000;
  EXPECT_THAT(text_of([&] { run(small, 1); }), HasSubstr("has 1000"));

  ThreadPool pool(1);
  Values weights(20);
  CardTables tables({}, pool, {});
  const auto add = [&](const UpdateRule& rule) {
    return text_of([&] { tables.add({"t", 4, rule, weights}); });
  };
  EXPECT_THAT(add(Adam{}), HasSubstr("row_adam"));
  EXPECT_THAT(add(Sgd{.momentum = 0.9}), HasSubstr("with momentum"));
  EXPECT_EQ(add(RowAdam{}), "no error");
  const std::vector<std::uint32_t> row = {1}, beyond = {5};
  const Values gradient(4, 1.0f);
  const auto update = [&](std::uint32_t table, const std::vector<std::uint32_t>& rows,
                          std::span<const float> values) {
    return text_of([&] { tables.update_rows(table_step(1), {table, rows, values}); });
  };
  EXPECT_THAT(update(0, row, gradient), HasSubstr("call load() first"));
  tables.load();
  EXPECT_THAT(add(RowwiseAdagrad{}), HasSubstr("after load"));
  EXPECT_THAT(update(1, row, gradient), HasSubstr("no table 1"));
  EXPECT_THAT(update(0, beyond, gradient), HasSubstr("no row 5"));
  EXPECT_THAT(update(0, row, std::span(gradient).first(3)), HasSubstr("not 3"));
  EXPECT_EQ(weights, Values(20));
  EXPECT_EQ(update(0, row, gradient), "no error");
}

}  // namespace
}  // namespace tandem::training::test
