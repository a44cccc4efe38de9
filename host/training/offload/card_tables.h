// SPDX-License-Identifier: Apache-2.0
//
// CardTables: embedding tables in the memories of cards. The cards update the rows.
//
// Every card has a range of the rows of every table. update_rows() sends a card the gradients of
// its rows and writes the new rows, weights and state, into the host's arrays. So these are
// complete after every call. When a card fails, the host applies the gradients that were sent to it
// and keeps its rows: nothing is lost, and the bits are those of an Optimizer. A lost card is not
// used again. Ownership: borrows the pool and weights. Threads: one at a time calls; cards work in
// parallel. Errors: Error for arguments that do not fit.
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
  std::chrono::milliseconds load_timeout{60'000};    // of a card, for all its tables
  std::chrono::milliseconds update_timeout{10'000};  // of a card, for a call
};

struct CardTable {
  std::string name;
  std::uint32_t width = 1;
  UpdateRule rule = RowwiseAdagrad{};  // of rows
  std::span<float> weights;            // [rows, width]
};

struct CardRows {
  std::uint32_t table = 0;
  std::span<const std::uint32_t> rows;  // in any order; repeated ones are summed first
  std::span<const float> gradient;      // [rows.size(), width]
};

struct CardStatistics {
  std::string name;
  std::string lost;  // why; empty: in use
  std::uint64_t updated_rows = 0;
  double modelled_seconds = 0;  // by the card's own model
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
  // No cards: the host does everything.
  CardTables(std::vector<std::unique_ptr<device::TableUnit>> cards, ThreadPool& pool,
             const CardTablesOptions& options);
  ~CardTables();
  CardTables(const CardTables&) = delete;
  CardTables& operator=(const CardTables&) = delete;

  // Error after load(), for a rule that changes rows without a gradient, and as Optimizer::add().
  // If a rank owns only a range of a table, that range is a table here.
  std::uint32_t add(const CardTable& table);

  // Copies weights and state to the cards. Call it again after anything else changed either. Error
  // when a card is too small for its rows; it names the bytes.
  void load();
  // Closes the cards. These update from now on, after load(); none: the host does, at once.
  void set_cards(std::vector<std::unique_ptr<device::TableUnit>> cards);

  void update_rows(const StepFactors& step, const CardRows& rows);

  std::vector<StateView> state();
  CardTablesStatistics statistics() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::training
