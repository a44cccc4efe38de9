// SPDX-License-Identifier: Apache-2.0
//
// CardTables: embedding tables in the memories of cards. The cards update the rows.
//
// Every card has a range of the rows of every table. update_rows() sends each card the gradients of
// its rows. It writes the new rows (weights and state) into the host's arrays, so these are
// complete after every call. If a card fails, the host applies the gradients that were sent to it
// and continues with its rows: nothing is lost, and the bits are those of an Optimizer. A lost card
// is not used again. Ownership: borrows the pool and weights. Threads: one call at a time; cards
// work in parallel. Errors: Error for invalid arguments.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/thread_pool.h"
#include "device/table_unit.h"
#include "training/optimizer/optimizer.h"

namespace tandem::training {

struct CardTablesOptions {
  std::chrono::milliseconds load_timeout{60'000};    // for all tables of a card
  std::chrono::milliseconds update_timeout{10'000};  // for one call of a card
};

struct CardTable {
  std::string name;
  std::uint32_t width = 1;
  UpdateRule rule = RowwiseAdagrad{};  // a rule for rows
  std::span<float> weights;            // [rows, width]
};

struct CardRows {
  std::uint32_t table = 0;
  // in any order; the gradients of repeated rows are added first
  std::span<const std::uint32_t> rows;
  std::span<const float> gradient;  // [rows.size(), width]
};

struct CardStatistics {
  std::string name;
  std::string lost;  // the reason; empty: in use
  std::uint64_t updated_rows = 0;
  double modelled_seconds = 0;  // by the time model of the card
};

struct CardTablesStatistics {
  std::vector<CardStatistics> cards;
  std::uint64_t host_gradients = 0;  // gradient rows that the host applied instead of a card
};

// CardTables tables(std::move(cards), pool, options);
// const auto users = tables.add({.name = "users", .width = 64, .rule = RowwiseAdagrad{},
//                                .weights = weights});
// tables.load();                                       // to the cards
// tables.update_rows(step, {.table = users, .rows = rows, .gradient = gradient});
class CardTables {
 public:
  // cards: may be empty; the host then updates all rows.
  CardTables(std::vector<std::unique_ptr<device::TableUnit>> cards, ThreadPool& pool,
             const CardTablesOptions& options);
  ~CardTables();
  CardTables(const CardTables&) = delete;
  CardTables& operator=(const CardTables&) = delete;

  // Errors: Error after load(), for a rule that changes rows without a gradient, and as
  // Optimizer::add(). If a rank owns only a range of a table, that range is a table here.
  std::uint32_t add(const CardTable& table);

  // Copies weights and state to the cards. Call it again after other code has changed them. Throws
  // Error with the bytes if a card is too small for its rows.
  void load();
  // Closes the current cards. The new ones update the rows after load(); if there are none, the
  // host updates at once.
  void set_cards(std::vector<std::unique_ptr<device::TableUnit>> cards);

  void update_rows(const StepFactors& step, const CardRows& rows);

  std::vector<StateView> state();
  CardTablesStatistics statistics() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::training
